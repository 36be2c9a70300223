/* The worker's disk: results are written and opened on libuv's threads, never on the loop's. */
#ifndef GW_NET_DISK_H
#define GW_NET_DISK_H

#include "graph/wire/step.h"

#include <uv.h>

struct gw_disk;

struct gw_disk_options {
    uv_loop_t *loop;
    const char *folder; /* of this worker's files; copied */
    /* What came of a SPILL or RESTORE, on the loop's thread, in a later turn; fd (-1: none) is the
     * callee's. */
    void (*on_event)(const struct gw_event *event, int fd, void *arg);
    void *arg;
};

struct gw_disk *gw_disk_new(const struct gw_disk_options *options);

/* gw_disk_execute takes a SPILL (memory_fd is duplicated), RESTORE or UNLINK. */
void gw_disk_execute(struct gw_disk *disk, const struct gw_effect *effect, int memory_fd);

/* gw_disk_close frees it when what is under way has ended; on_event is not called any more. The
 * folder stays. */
void gw_disk_close(struct gw_disk *disk);

#endif
