/* Names of workers in messages for people. They are the names that `--on` accepts. */
#ifndef GW_SCHEDULER_CORE_WORKER_NAME_H
#define GW_SCHEDULER_CORE_WORKER_NAME_H

#include "scheduler/core/model/state.h"

enum { GW_WORKER_NAME_MAX = 256, GW_WORKER_NAMES_MAX = 65536 };

/* gw_sched_worker_name_is returns true if `said` means this worker: it is its name, its host (see
 * gw_hostname_is), or the address that it connected from, as in a hostfile. */
bool gw_sched_worker_name_is(const struct gw_worker *worker, const char *said);

/* gw_sched_worker_name_add records the name of a worker, also for the time after its loss. It is
 * for use in model/ only. The latest GW_WORKER_NAMES_MAX names are kept by id.
 * gw_sched_worker_name_was returns true if `said` has ever been the name of a worker or host. */
bool gw_sched_worker_name_was(const struct gw_sched *sched, const char *said);
void gw_sched_worker_name_add(struct gw_sched *sched, const struct gw_worker *worker);
void gw_sched_worker_names_deinit(struct gw_sched *sched);

/* gw_sched_worker_name writes the name of the worker with this id. The id is added if another
 * worker has the same name, and used alone if no name is known ("worker 7"). gw_sched_worker_where
 * writes "NAME on HOST", or only NAME if both are the same. Both return `text`. */
const char *gw_sched_worker_name(const struct gw_sched *sched, uint32_t id,
                                 char text[static GW_WORKER_NAME_MAX]);
const char *gw_sched_worker_where(const struct gw_sched *sched, uint32_t id,
                                  char text[static GW_WORKER_NAME_MAX]);

#endif
