/* A task's checkpoint: one file a task in its job's folder, the same for every attempt, so that the
 * next attempt goes on where the last one saved. Collective in a gang; rank 0 touches the file. */
#include "worker/runner/task.h"

#include <errno.h>
#include <gangway/checkpoint.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_MAX_BYTES = 4096 + 32 };

static int make_folder(struct gw_task *task, const char *path)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return gw_error_set(&task->error, GW_EIO, "cannot make the folder %s: %s", path,
                            strerror(errno));
    return 0;
}

static int find_folder(struct gw_task *task)
{
    const char *top = getenv("GANGWAY_CHECKPOINTS");
    if (task->checkpoint_dir[0])
        return 0;
    if (!top || !*top)
        return gw_error_set(&task->error, GW_ENOENT,
                            "there is no folder for checkpoints (GANGWAY_CHECKPOINTS is not set)");
    char path[sizeof task->checkpoint_dir];
    int length = snprintf(path, sizeof path, "%s/%" PRIu64, top, task->job);
    if (length >= (int)sizeof path)
        return gw_error_set(&task->error, GW_ELIMIT, "GANGWAY_CHECKPOINTS is too long");
    int rc = make_folder(task, top);
    if (rc == 0)
        rc = make_folder(task, path);
    if (rc == 0)
        memcpy(task->checkpoint_dir, path, sizeof path);
    return rc;
}

const char *gw_task_checkpoint_dir(struct gw_task *task)
{
    return find_folder(task) == 0 ? task->checkpoint_dir : NULL;
}

static int find_path(struct gw_task *task, char path[static PATH_MAX_BYTES])
{
    int rc = find_folder(task);
    if (rc == 0)
        snprintf(path, PATH_MAX_BYTES, "%s/%" PRIu32 ".checkpoint", task->checkpoint_dir,
                 task->index);
    return rc;
}

static int save(struct gw_task *task, const struct gw_checkpoint *checkpoint)
{
    char path[PATH_MAX_BYTES];
    int rc = find_path(task, path);
    if (rc < 0)
        return rc;
    return task->world > 1 ? gw_checkpoint_comm_save(checkpoint, task->comm, path, &task->error)
                           : gw_checkpoint_file_write(checkpoint, path, &task->error);
}

int gw_checkpoint_save(struct gw_task *task, const void *state, size_t bytes, int64_t step)
{
    struct gw_checkpoint *checkpoint = gw_checkpoint_new();
    if (!checkpoint || gw_checkpoint_set_bytes(checkpoint, "state", state, bytes) < 0 ||
        gw_checkpoint_set_i64(checkpoint, "step", step) < 0) {
        gw_checkpoint_free(checkpoint);
        return gw_error_set(&task->error, GW_ENOMEM, "out of memory for a checkpoint");
    }
    int rc = save(task, checkpoint);
    gw_checkpoint_free(checkpoint);
    return rc;
}

int gw_checkpoint_load(struct gw_task *task, void *state, size_t bytes, int64_t *step)
{
    char path[PATH_MAX_BYTES];
    struct gw_checkpoint *checkpoint;
    int64_t saved;
    int rc = find_path(task, path);
    if (rc == 0)
        rc = task->world > 1 ? gw_checkpoint_comm_load(task->comm, path, &checkpoint, &task->error)
                             : gw_checkpoint_file_read(path, &checkpoint, &task->error);
    if (rc == GW_ENOENT && task->checkpoint_dir[0]) {
        *step = 0;
        return 0;
    }
    if (rc < 0)
        return rc;
    if (gw_checkpoint_i64(checkpoint, "step", &saved) < 0)
        rc = gw_error_set(&task->error, GW_ECORRUPT, "%s: not a checkpoint of gw_checkpoint_save",
                          path);
    else
        rc = gw_checkpoint_copy(checkpoint, "state", state, bytes, &task->error);
    if (rc == 0 && gw_checkpoint_warning(checkpoint) && task->rank == 0)
        fprintf(stderr, "gangway: %s\n", gw_checkpoint_warning(checkpoint));
    if (rc == 0)
        *step = saved;
    gw_checkpoint_free(checkpoint);
    return rc;
}
