/* Checks the health of this machine periodically: its disk, its memory, its clock, and with a
 * program of the admin. */
#ifndef GW_NET_HEALTH_H
#define GW_NET_HEALTH_H

#include "worker/core/node.h"

#include <uv.h>

struct gw_health_checks;

struct gw_health_checks_options {
    uv_loop_t *loop;
    const char *folder;   /* folder of this worker's files; copied */
    const char *script;   /* absolute path of the admin's program; NULL: none; copied */
    const char *name;     /* of this worker; copied */
    uint64_t interval_ms; /* from the start of one run to that of the next */
    uint64_t timeout_ms;  /* of the admin's program, and of the disk */
    /* Receives a HEALTH event on the loop's thread. The event is borrowed during the call. */
    void (*on_checked)(const struct gw_event *event, void *arg);
    void *arg;
};

/* gw_health_checks_new starts the checks. The first run begins in the next turn. */
struct gw_health_checks *gw_health_checks_new(const struct gw_health_checks_options *options);

/* gw_health_checks_heard handles a heartbeat of the scheduler: wall_ns is its clock, now_ns that of
 * this machine. */
void gw_health_checks_heard(struct gw_health_checks *checks, uint64_t wall_ns, uint64_t now_ns);

/* gw_health_checks_close frees the structure in a later turn. on_checked is not called any more. */
void gw_health_checks_close(struct gw_health_checks *checks);

#endif
