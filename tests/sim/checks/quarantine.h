/* Workers in quarantine, because a gang failed there or files could not be created: which tasks the
 * scheduler must not place there. */
#ifndef GW_TESTS_SIM_QUARANTINE_H
#define GW_TESTS_SIM_QUARANTINE_H

#include "tests/sim/sim.h"

/* sim_quarantine_before: the scheduler is about to process an event. sim_quarantine_stepped: it has
 * processed it. */
void sim_quarantine_before(struct sim *sim, const struct gw_event *event);
void sim_quarantine_stepped(struct sim *sim, const struct gw_event *event);

/* sim_quarantine_ended returns true if the task's gang was already being ended before this step,
 * for an earlier reason. */
bool sim_quarantine_ended(const struct sim *sim, uint64_t job, uint32_t row);

/* sim_quarantine_assigned: the scheduler assigns work to a worker that has its specs. */
void sim_quarantine_assigned(struct sim *sim, const struct host *host,
                             const struct gw_msg_assign *assign);

/* sim_quarantine_crashed: the scheduler has died. In its next term no worker is in quarantine. */
void sim_quarantine_crashed(struct sim *sim);
void sim_quarantine_free(struct sim *sim);

#endif
