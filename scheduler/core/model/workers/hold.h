/* Workers that were connected in the previous term and that this term expects to reconnect. */
#ifndef GW_SCHEDULER_CORE_WORKERS_HOLD_H
#define GW_SCHEDULER_CORE_WORKERS_HOLD_H

#include "scheduler/core/model/state.h"

/* gw_sched_hold_on_registered records, as a durable fact, that a worker is connected, and that it
 * has reconnected. gw_sched_hold_knows returns true if that fact is on disk. No task is placed at
 * the worker before. gw_sched_hold_on_lost removes the record of a lost worker none of whose
 * processes can run any more. gw_sched_hold_lose sets the time until which the record of a lost
 * worker stays. Only for use in model/. */
void gw_sched_hold_on_registered(struct gw_sched *sched, struct gw_worker *worker);
bool gw_sched_hold_knows(const struct gw_sched *sched, const struct gw_worker *worker);
void gw_sched_hold_on_lost(struct gw_sched *sched, const struct gw_worker *worker);
void gw_sched_hold_lose(struct gw_sched *sched, const struct gw_worker *worker);

/* gw_sched_hold_dump appends the recorded workers as bytes. */
void gw_sched_hold_dump(const struct gw_sched *sched, struct gw_buffer *out);

/* gw_sched_hold_awaits returns true if a worker of the previous term has not reconnected yet. */
bool gw_sched_hold_awaits(const struct gw_sched *sched);

/* gw_sched_hold_deinit frees the names of the workers. */
void gw_sched_hold_deinit(struct gw_sched *sched);

#endif
