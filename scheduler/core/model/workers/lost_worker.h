/* Lost workers that may reconnect. */
#ifndef GW_SCHEDULER_CORE_LOST_WORKER_H
#define GW_SCHEDULER_CORE_LOST_WORKER_H

#include "scheduler/core/model/state.h"

enum { GW_LOST_WORKERS_MAX = 64, GW_LOST_WORKER_NAME_BYTES = 128 };

struct gw_lost_workers {
    struct gw_lost_worker {
        char name[GW_LOST_WORKER_NAME_BYTES], host[GW_LOST_WORKER_NAME_BYTES];
        uint64_t incarnation, lost_ns, memory_bytes;
        /* GPUs that it owned; instances: MIG instances among them. */
        uint32_t slots, gpus, instances;
    } items[GW_LOST_WORKERS_MAX];
    uint32_t count;
};

/* Only for use in model/. gw_sched_lost_worker_on_given: a GPU that the lost worker owned was given
 * to another worker. gw_sched_lost_worker_on_ready removes a worker that has reconnected.
 * gw_sched_lost_worker_deinit frees all. */
void gw_sched_lost_worker_on_given(struct gw_sched *sched, uint64_t incarnation, bool instance);
void gw_sched_lost_worker_on_ready(struct gw_sched *sched, const struct gw_worker *worker);
void gw_sched_lost_worker_deinit(struct gw_sched *sched);

/* gw_sched_lost_worker_is returns true if a connecting worker is one of them. */
bool gw_sched_lost_worker_is(const struct gw_sched *sched, const struct gw_worker *worker);

/* gw_sched_lost_worker_has returns true if this incarnation of a worker is one of them. */
bool gw_sched_lost_worker_has(const struct gw_sched *sched, uint64_t incarnation);

/* gw_sched_lost_worker_instances returns how many MIG instances a worker owns. */
uint32_t gw_sched_lost_worker_instances(const struct gw_worker *worker);

/* gw_sched_lost_worker_forget removes the entry at an index. */
void gw_sched_lost_worker_forget(struct gw_lost_workers *disconnected, uint32_t at);

#endif
