/* What workers are called in what people read: what `--on` takes, and not their numbers. */
#ifndef GW_SCHEDULER_CORE_WORKER_NAME_H
#define GW_SCHEDULER_CORE_WORKER_NAME_H

#include "scheduler/core/model/state.h"

enum { GW_WORKER_NAME_MAX = 256, GW_WORKER_NAMES_MAX = 65536 };

/* gw_sched_worker_name_is tells whether what was said means a worker: its name, its host (see
 * gw_hostname_is), or the address that it connected from, as hostfiles have them. */
bool gw_sched_worker_name_is(const struct gw_worker *worker, const char *said);

/* gw_sched_worker_name_keep keeps what a worker is called, also after it was lost; for apply
 * functions. The latest GW_WORKER_NAMES_MAX are kept by id; gw_sched_worker_name_was tells whether
 * what was said has ever meant one. */
bool gw_sched_worker_name_was(const struct gw_sched *sched, const char *said);
void gw_sched_worker_name_keep(struct gw_sched *sched, const struct gw_worker *worker);
void gw_sched_worker_names_deinit(struct gw_sched *sched);

/* gw_sched_worker_name writes the name of the worker with this id, and the id only beside a name
 * that another worker has, too, or where no name is known ("worker 7"); gw_sched_worker_where
 * "NAME on HOST" (where both are the same: NAME). Both return `text`. */
const char *gw_sched_worker_name(const struct gw_sched *sched, uint32_t id,
                                 char text[static GW_WORKER_NAME_MAX]);
const char *gw_sched_worker_where(const struct gw_sched *sched, uint32_t id,
                                  char text[static GW_WORKER_NAME_MAX]);

#endif
