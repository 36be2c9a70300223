/* Writes and opens the files of spilled results on libuv's threads, so that the loop does not
 * block. */
#ifndef GW_NET_DISK_H
#define GW_NET_DISK_H

#include "graph/wire/step.h"

#include <uv.h>

struct gw_disk;

struct gw_disk_options {
    uv_loop_t *loop;
    const char *folder; /* folder of this worker's files; copied */
    /* Receives the result of a SPILL or RESTORE as an event, on the loop's thread, in a later turn.
     * It takes over fd (-1: none). */
    void (*on_event)(const struct gw_event *event, int fd, void *arg);
    void *arg;
};

struct gw_disk *gw_disk_new(const struct gw_disk_options *options);

/* gw_disk_execute starts a SPILL (memory_fd is duplicated), RESTORE or UNLINK. */
void gw_disk_execute(struct gw_disk *disk, const struct gw_effect *effect, int memory_fd);

/* gw_disk_close frees the disk when all work in progress has ended. on_event is not called any
 * more. The folder is not removed. */
void gw_disk_close(struct gw_disk *disk);

#endif
