/* What workers say of their memory, and what is taken back from one that has too little. */
#ifndef GW_SCHEDULER_CORE_MEMORY_REPORT_H
#define GW_SCHEDULER_CORE_MEMORY_REPORT_H

#include "scheduler/core/model/state.h"

/* gw_sched_memory_on_report takes what a worker says of its memory. One that is paused is asked to
 * give back what it has not begun. */
void gw_sched_memory_on_report(struct gw_sched *sched, struct gw_worker *worker,
                               const struct gw_msg_memory *report);

/* gw_sched_memory_on_measured learns how much attempts use. GW_EPROTO. */
int gw_sched_memory_on_measured(struct gw_sched *sched, struct gw_worker *worker,
                                const struct gw_msg_measured *measured);

#endif
