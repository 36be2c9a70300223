/* What workers report of ends. */
#ifndef GW_SCHEDULER_CORE_WORKER_REPORT_H
#define GW_SCHEDULER_CORE_WORKER_REPORT_H

#include "scheduler/core/lifecycle/gang_end.h"
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

/* gw_sched_worker_report_finish ends an attempt of an ordinary task well, as if its worker told it
 * now. */
void gw_sched_worker_report_finish(struct gw_sched *sched, struct gw_worker *worker,
                                   uint64_t attempt, const struct gw_result *result,
                                   uint64_t run_ns);

/* gw_sched_worker_report_ended ends the attempt at a place otherwise than well, and decides. */
void gw_sched_worker_report_ended(struct gw_sched *sched, uint32_t slot, const struct gw_end *end);

/* gw_sched_gang_on_finished: a rank ended well; one that is not known is dropped. GW_EPROTO: the
 * gang has not started. */
int gw_sched_gang_on_finished(struct gw_sched *sched, struct gw_worker *worker,
                              const struct gw_rank_end *end);

/* gw_sched_worker_report_gathered: all ranks of an attempt of an earlier life are known, and it
 * goes on. The attempt may be freed. */
void gw_sched_worker_report_gathered(struct gw_sched *sched, struct gw_gang_attempt *gang);

/* gw_sched_worker_on_stale hears that something ended that the table of attempts does not know: an
 * attempt from before the worker registered, perhaps. */
void gw_sched_worker_on_stale(struct gw_sched *sched, struct gw_worker *worker, uint64_t attempt,
                              uint32_t rank);

/* gw_sched_worker_report_ready readies a worker that has registered, where nothing is in the way.
 */
void gw_sched_worker_report_ready(struct gw_sched *sched, struct gw_worker *worker);

#endif
