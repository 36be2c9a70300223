/* The checkpoint of a task is a file in its folder. All attempts of an ordinary task share one
 * file. The file of a gang has the number of its attempt in its name, and the scheduler tells the
 * next attempt which one is current. So an old attempt that was cut off and still writes does no
 * damage. In a gang the functions are collective, and only rank 0 uses the files. */
#include "gpu/train/rank_error.h"
#include "graph/base/log.h"
#include "worker/runner/task.h"

#include <dirent.h>
#include <errno.h>
#include <gangway/checkpoint.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
                            "there is no folder for checkpoints: with GANGWAY_INLINE=1, set "
                            "GANGWAY_CHECKPOINTS to one");
    char path[sizeof task->checkpoint_dir], of_job[sizeof path];
    int job_length = snprintf(of_job, sizeof of_job, "%s/%" PRIu64, top, task->job);
    int length =
        snprintf(path, sizeof path, "%s/%" PRIu64 "/%" PRIu32, top, task->job, task->index);
    if (job_length >= (int)sizeof of_job || length >= (int)sizeof path)
        return gw_error_set(&task->error, GW_ELIMIT,
                            "the path in GANGWAY_CHECKPOINTS may have at most %zu bytes",
                            sizeof of_job - 33);
    int rc = make_folder(task, top);
    if (rc == 0)
        rc = make_folder(task, of_job);
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

/* Returns the path of an attempt's checkpoint. attempt 0: all attempts share the file. */
static int find_path(struct gw_task *task, uint64_t attempt, char path[static PATH_MAX_BYTES])
{
    int rc = find_folder(task);
    if (rc == 0 && attempt)
        snprintf(path, PATH_MAX_BYTES, "%s/%" PRIu32 ".%016" PRIx64 ".checkpoint",
                 task->checkpoint_dir, task->index, attempt);
    else if (rc == 0)
        snprintf(path, PATH_MAX_BYTES, "%s/%" PRIu32 ".checkpoint", task->checkpoint_dir,
                 task->index);
    return rc;
}

/* Called before an attempt saves for the first time. The checkpoint that it resumed from becomes
 * the previous one. Without hard links there is no previous one, which only means one fallback
 * less. */
static void inherit(struct gw_task *task, const char *path)
{
    char from[PATH_MAX_BYTES], before[PATH_MAX_BYTES + sizeof ".previous"];
    if (!task->checkpoint_from || find_path(task, task->checkpoint_from, from) < 0)
        return;
    snprintf(before, sizeof before, "%s.previous", path);
    (void)!link(from, before);
}

/* Called after the first save. Removes the files of all attempts except this one and the one that
 * it resumed from. Any other attempt that still writes was cut off and does not count. */
static void tidy(struct gw_task *task)
{
    char own[48], from[48], all[16];
    int length = snprintf(all, sizeof all, "%" PRIu32 ".", task->index);
    int own_length = snprintf(own, sizeof own, "%s%016" PRIx64 ".", all, task->attempt);
    int from_length = snprintf(from, sizeof from, "%s%016" PRIx64 ".", all, task->checkpoint_from);
    DIR *folder = opendir(task->checkpoint_dir);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (strncmp(entry->d_name, all, (size_t)length) == 0 &&
            strstr(entry->d_name, ".checkpoint") &&
            strncmp(entry->d_name, own, (size_t)own_length) != 0 &&
            strncmp(entry->d_name, from, (size_t)from_length) != 0)
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        (void)closedir(folder);
}

static int save(struct gw_task *task, const struct gw_checkpoint *checkpoint)
{
    char path[PATH_MAX_BYTES];
    bool first = task->attempt && !task->checkpoint_saved && task->rank == 0;
    int rc = find_path(task, task->attempt, path);
    if (rc < 0)
        return rc;
    if (first)
        inherit(task, path);
    rc = task->world > 1 ? gw_checkpoint_comm_save(checkpoint, task->comm, path, &task->error)
                         : gw_checkpoint_file_write(checkpoint, path, &task->error);
    if (rc < 0)
        return rc;
    task->checkpoint_saved = true;
    if (first)
        tidy(task);
    return 0;
}

int gw_task_checkpoint_save(struct gw_task *task, struct gw_checkpoint *checkpoint, int64_t step)
{
    int rc = checkpoint ? gw_checkpoint_set_i64(checkpoint, "step", step) : 0;
    if (rc < 0) /* on one rank alone: its failure ends the gang */
        return gw_error_set(&task->error, rc,
                            rc == GW_EEXIST ? "the set of a checkpoint has a section \"step\": "
                                              "make a new set for each save"
                                            : "the set of a checkpoint takes no further section");
    rc = save(task, checkpoint);
    if (rc == 0 && task->attempt && task->rank == 0 && task->hooks)
        task->hooks->saved(task->hooks->arg, step);
    return rc;
}

int gw_checkpoint_save(struct gw_task *task, const void *state, size_t bytes, int64_t step)
{
    struct gw_checkpoint *checkpoint = gw_checkpoint_new();
    if (!checkpoint || gw_checkpoint_set_bytes(checkpoint, "state", state, bytes) < 0) {
        gw_checkpoint_free(checkpoint);
        return gw_error_set(&task->error, GW_ENOMEM, "out of memory for a checkpoint");
    }
    int rc = gw_task_checkpoint_save(task, checkpoint, step);
    gw_checkpoint_free(checkpoint);
    return rc;
}

/* Handles that the current checkpoint is not in the folder: the hosts do not share it, and the last
 * attempt had rank 0 on another host. Returns 0 if the checkpoint is known to be lost. */
static int not_here(struct gw_task *task)
{
    if (!task->checkpoint_lost)
        return gw_error_set(&task->error, GW_ENOENT,
                            "the checkpoint to resume from is not in %s: another host saved it and "
                            "does not share this folder, and which host that was is not known any "
                            "more (`gangway restart` tries again)",
                            task->checkpoint_dir);
    if (task->rank == 0)
        gw_log_plain(GW_LOG_WARN, "gangway: ",
                     "THE CHECKPOINT IS LOST: it is not in %s, the worker that saved it is lost or "
                     "no longer has it, and there is no copy: starting from step 0",
                     task->checkpoint_dir);
    task->checkpoint_from = 0;
    return 0;
}

/* Finds the path of the checkpoint to load, and the communicator that loads it: NULL if there is
 * one rank and no place. The failure of a rank is that of all ranks, and *rc receives it. */
static struct gw_comm *load_prepare(struct gw_task *task, uint64_t attempt, bool has_places,
                                    char path[static PATH_MAX_BYTES], int *rc)
{
    struct gw_comm *comm = task->world > 1 || has_places ? gw_task_comm(task) : NULL;
    *rc = has_places && !comm ? task->error.code : find_path(task, attempt, path);
    if (task->world > 1)
        *rc = gw_rank_error_share(comm, *rc, &task->error);
    return comm;
}

int gw_task_checkpoint_load_into(struct gw_task *task, const struct gw_checkpoint_place *places,
                                 size_t count, struct gw_checkpoint **checkpoint, int64_t *step)
{
    char path[PATH_MAX_BYTES];
    struct gw_checkpoint *loaded = NULL;
    int64_t saved = 0;
    uint64_t attempt = task->checkpoint_saved ? task->attempt : task->checkpoint_from;
    int rc;
    struct gw_comm *comm = load_prepare(task, attempt, count > 0, path, &rc);
    if (rc < 0)
        return rc;
    if (attempt || !task->attempt)
        rc = comm ? gw_checkpoint_comm_load_into(comm, path, places, count, &loaded, &task->error)
                  : gw_checkpoint_file_read(path, &loaded, &task->error);
    if (rc == GW_ENOENT && !attempt)
        rc = 0; /* none yet */
    else if (rc == GW_ENOENT && attempt == task->checkpoint_from)
        rc = not_here(task);
    if (rc == 0 && loaded && gw_checkpoint_i64(loaded, "step", &saved) < 0)
        rc = gw_error_set(&task->error, GW_ECORRUPT,
                          "%s is not a checkpoint that gw_checkpoint_save wrote, or it is damaged",
                          path);
    if (rc < 0) {
        gw_checkpoint_free(loaded);
        return rc;
    }
    if (loaded && gw_checkpoint_warning(loaded) && task->rank == 0)
        gw_log_plain(GW_LOG_WARN, "gangway: ", "%s", gw_checkpoint_warning(loaded));
    *checkpoint = loaded;
    *step = saved;
    return 0;
}

int gw_task_checkpoint_load(struct gw_task *task, struct gw_checkpoint **checkpoint, int64_t *step)
{
    return gw_task_checkpoint_load_into(task, NULL, 0, checkpoint, step);
}

int gw_checkpoint_load(struct gw_task *task, void *state, size_t bytes, int64_t *step)
{
    struct gw_checkpoint *checkpoint = NULL;
    int64_t saved;
    int rc = gw_task_checkpoint_load(task, &checkpoint, &saved);
    if (rc == 0 && checkpoint)
        rc = gw_checkpoint_copy(checkpoint, "state", state, bytes, &task->error);
    if (rc == 0)
        *step = saved;
    gw_checkpoint_free(checkpoint);
    return rc;
}
