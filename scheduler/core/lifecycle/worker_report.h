/* What workers report of ends. */
#ifndef GW_SCHEDULER_CORE_WORKER_REPORT_H
#define GW_SCHEDULER_CORE_WORKER_REPORT_H

#include "scheduler/core/model/state.h"

/* gw_sched_on_started, _finished and _ended take a worker's message; attempts that are not its own,
 * or not live any more, are dropped. GW_EPROTO for columns that do not match, or a rank that ended
 * before its gang went. */
int gw_sched_on_started(struct gw_sched *sched, struct gw_worker *worker,
                        const struct gw_msg_started *started);
int gw_sched_on_finished(struct gw_sched *sched, struct gw_worker *worker,
                         const struct gw_msg_finished *finished);
int gw_sched_on_failures(struct gw_sched *sched, struct gw_worker *worker,
                         const struct gw_msg_failures *failures);
int gw_sched_on_ended(struct gw_sched *sched, struct gw_worker *worker,
                      const struct gw_msg_ended *ended);

/* gw_sched_finish ends an attempt of an ordinary task well, as if its worker told it now. */
void gw_sched_finish(struct gw_sched *sched, struct gw_worker *worker, uint64_t attempt,
                     const struct gw_result *result, uint64_t run_ns);

/* gw_sched_verdict_ended ends the attempt at a place otherwise than well, and decides. */
void gw_sched_verdict_ended(struct gw_sched *sched, uint32_t slot, const struct gw_end *end);

#endif
