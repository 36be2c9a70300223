/* Reports of workers about attempts that started or ended. */
#ifndef GW_SCHEDULER_CORE_WORKER_REPORT_H
#define GW_SCHEDULER_CORE_WORKER_REPORT_H

#include "scheduler/core/lifecycle/gang_end.h"
#include "scheduler/core/model/state.h"

/* Handlers of the worker messages started, finished, failures and ended. Attempts that do not
 * belong to this worker or have already ended are ignored. The handlers return GW_EPROTO if the
 * columns do not match, or if a rank ended well before its gang started. */
int gw_sched_on_started(struct gw_sched *sched, struct gw_worker *worker,
                        const struct gw_msg_started *started);
int gw_sched_on_finished(struct gw_sched *sched, struct gw_worker *worker,
                         const struct gw_msg_finished *finished);
int gw_sched_on_failures(struct gw_sched *sched, struct gw_worker *worker,
                         const struct gw_msg_failures *failures);
int gw_sched_on_ended(struct gw_sched *sched, struct gw_worker *worker,
                      const struct gw_msg_ended *ended);

/* gw_sched_worker_report_finish ends an attempt of an ordinary task well, as if its worker reported
 * that now. */
void gw_sched_worker_report_finish(struct gw_sched *sched, struct gw_worker *worker,
                                   uint64_t attempt, const struct gw_result *result,
                                   uint64_t run_ns);

/* gw_sched_worker_report_ended ends the attempt in this slot with an outcome that is not success,
 * and decides what follows for the task. */
void gw_sched_worker_report_ended(struct gw_sched *sched, uint32_t slot, const struct gw_end *end);

/* gw_sched_worker_report_gathered is called for a gang that ran before the scheduler restarted,
 * when all of its ranks have been reported again. The gang then continues, or ends if no rank is
 * left. The attempt may be freed. */
void gw_sched_worker_report_gathered(struct gw_sched *sched, struct gw_gang_attempt *gang);

/* gw_sched_worker_report_on_stale handles the end of an attempt that the scheduler does not know,
 * for example one that the worker ran before it registered. */
void gw_sched_worker_report_on_stale(struct gw_sched *sched, struct gw_worker *worker,
                                     uint64_t attempt, uint32_t rank);

/* gw_sched_worker_report_ready makes a registered worker ready for tasks, unless attempts of its
 * earlier connection still run there or the scheduler still waits for information about it. */
void gw_sched_worker_report_ready(struct gw_sched *sched, struct gw_worker *worker);

#endif
