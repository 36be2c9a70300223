/* Workers that are drained: they run what they run, and get nothing more. An admin drains a worker,
 * or its health check does. Workers are identified by name, so they stay drained across restarts of
 * themselves and of the scheduler, until they are undrained. */
#ifndef GW_SCHEDULER_CORE_WORKER_DRAIN_H
#define GW_SCHEDULER_CORE_WORKER_DRAIN_H

#include "scheduler/core/model/state.h"

struct gw_worker_drain {
    char *name, *why, *by;  /* why: "" if no reason was given; by: the admin, for people */
    uint64_t until_wall_ns; /* what still runs then is ended; 0: never */
    bool check;             /* by the worker's health check, which may end it, too */
};

struct gw_worker_drains {
    GW_ARRAY(struct gw_worker_drain) items;
    uint64_t look_ns; /* when the drained workers must be looked at again */
};

/* gw_sched_worker_drain_find returns the entry of a name, or NULL. */
const struct gw_worker_drain *gw_sched_worker_drain_find(const struct gw_sched *sched,
                                                         const char *name);

/* gw_sched_worker_drain_drop removes and frees the entry at an index. gw_sched_worker_drain_push
 * adds a copy of an entry. gw_sched_worker_drain_mark sets or clears the mark of a worker. Only for
 * use in model/. */
void gw_sched_worker_drain_drop(struct gw_sched *sched, size_t at);
void gw_sched_worker_drain_push(struct gw_sched *sched, const struct gw_worker_drain *drain);
void gw_sched_worker_drain_mark(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_worker_drain_told records that a worker was asked for what it has not begun.
 * gw_sched_worker_drain_ends records that an attempt is being ended because of the deadline.
 * gw_sched_worker_drains_look sets when the drained workers must be looked at again. */
void gw_sched_worker_drain_told(struct gw_worker *worker);
void gw_sched_worker_drain_ends(struct gw_sched *sched, uint32_t slot);
void gw_sched_worker_drains_look(struct gw_sched *sched, uint64_t look_ns);

/* gw_sched_worker_drain_record records a worker's report about its health checks.
 * gw_sched_worker_drain_judge compares the clocks of all workers with that of the scheduler, and
 * returns true if the scheduler's has become wrong, or right. gw_sched_worker_drain_clock writes
 * for people how wrong it is; "": it is right. */
void gw_sched_worker_drain_record(struct gw_worker *worker, const struct gw_msg_health *health);
bool gw_sched_worker_drain_judge(struct gw_sched *sched);
void gw_sched_worker_drain_clock(const struct gw_sched *sched, char *text, size_t bytes);

/* gw_sched_worker_drain_text writes for people who drained a worker and why: "drained by ops: new
 * kernel". */
void gw_sched_worker_drain_text(const struct gw_worker_drain *drain, char *text, size_t bytes);

/* gw_sched_worker_drain_dump appends the list as bytes. gw_sched_worker_drain_deinit frees it. */
void gw_sched_worker_drain_dump(const struct gw_sched *sched, struct gw_buffer *out);
void gw_sched_worker_drain_deinit(struct gw_sched *sched);

#endif
