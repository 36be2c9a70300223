/* Writes and opens the files of spilled results on threads.
 *
 * Invariant: each request is one piece of work on a thread. The core gives no second request for a
 * file before the first is answered, so the threads need no locks. */
#include "worker/net/parts/disk.h"

#include "graph/base/log.h"
#include "graph/base/must.h"
#include "worker/store/spillfile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gw_disk {
    struct gw_disk_options options;
    char folder[PATH_MAX - 32];
    uint32_t works; /* number of requests in progress */
    bool closed;
    bool failing; /* the last write failed, which was logged */
};

struct disk_work {
    uv_work_t work;
    struct gw_disk *disk;
    uint32_t type;
    uint64_t number;
    char path[PATH_MAX];
    int memory_fd, fd;
    struct gw_spillfile file;
    int rc;
    struct gw_error error;
};

struct gw_disk *gw_disk_new(const struct gw_disk_options *options)
{
    struct gw_disk *disk = calloc(1, sizeof *disk);
    GW_MUST_PTR(disk);
    disk->options = *options;
    (void)snprintf(disk->folder, sizeof disk->folder, "%s", options->folder);
    return disk;
}

static void work_on_thread(uv_work_t *handle)
{
    struct disk_work *work = handle->data;
    switch (work->type) {
    case GW_EFFECT_SPILL:
        work->rc =
            gw_spillfile_write(work->path, work->memory_fd, &work->file, &work->fd, &work->error);
        break;
    case GW_EFFECT_RESTORE:
        work->rc = gw_spillfile_open(work->path, &work->file, &work->fd, &work->error);
        break;
    default:
        (void)unlink(work->path);
    }
}

/* Logs when writes begin to fail and when they work again. */
static void say(struct disk_work *work)
{
    struct gw_disk *disk = work->disk;
    if (work->type == GW_EFFECT_RESTORE && work->rc < 0)
        gw_log_warn("a result on disk is lost and will be computed again: %s", work->error.text);
    if (work->type != GW_EFFECT_SPILL || disk->failing == (work->rc < 0))
        return;
    disk->failing = work->rc < 0;
    if (disk->failing)
        gw_log_warn("results stay in memory, because they cannot be written to disk: %s",
                    work->error.text);
    else
        gw_log_info("results can be written to disk again");
}

static void work_on_done(uv_work_t *handle, int status)
{
    struct disk_work *work = handle->data;
    struct gw_disk *disk = work->disk;
    (void)status;
    disk->works--;
    if (work->memory_fd >= 0)
        close(work->memory_fd);
    if (disk->closed || work->type == GW_EFFECT_UNLINK) {
        if (work->fd >= 0)
            close(work->fd);
    } else {
        say(work);
        disk->options.on_event(&(struct gw_event){.type = work->type == GW_EFFECT_SPILL
                                                              ? GW_EVENT_SPILLED
                                                              : GW_EVENT_RESTORED,
                                                  .number = work->number,
                                                  .code = work->rc,
                                                  .text = work->error.text,
                                                  .checksum = work->file.checksum},
                               work->fd, disk->options.arg);
    }
    free(work);
    if (disk->closed && !disk->works)
        free(disk);
}

void gw_disk_execute(struct gw_disk *disk, const struct gw_effect *effect, int memory_fd)
{
    struct disk_work *work = calloc(1, sizeof *work);
    GW_MUST_PTR(work);
    work->work.data = work;
    work->disk = disk;
    work->type = effect->type;
    work->number = effect->number;
    work->file = (struct gw_spillfile){effect->size, effect->checksum};
    work->memory_fd = work->fd = -1;
    (void)snprintf(work->path, sizeof work->path, "%s/%" PRIu64, disk->folder, effect->number);
    if (effect->type == GW_EFFECT_SPILL) {
        work->memory_fd = fcntl(memory_fd, F_DUPFD_CLOEXEC, 0);
        if (work->memory_fd < 0) { /* the thread's mmap fails with the same error */
            work->rc = -errno;
            gw_log_warn("cannot write a result to disk: %s", strerror(errno));
        }
    }
    disk->works++;
    int rc = uv_queue_work(disk->options.loop, &work->work, work_on_thread, work_on_done);
    assert(rc == 0);
    (void)rc;
}

void gw_disk_close(struct gw_disk *disk)
{
    disk->closed = true;
    if (!disk->works)
        free(disk);
}
