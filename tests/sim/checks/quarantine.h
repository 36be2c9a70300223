/* Workers that failed gangs, or could not lay files: what may not be placed there meanwhile. */
#ifndef GW_TESTS_SIM_QUARANTINE_H
#define GW_TESTS_SIM_QUARANTINE_H

#include "tests/sim/sim.h"

/* sim_quarantine_before: the scheduler is about to take an event; sim_quarantine_stepped: it has.
 */
void sim_quarantine_before(struct sim *sim, const struct gw_event *event);
void sim_quarantine_stepped(struct sim *sim, const struct gw_event *event);

/* sim_quarantine_ended: before this step a task's gang was being ended already, for what came
 * earlier.
 */
bool sim_quarantine_ended(const struct sim *sim, uint64_t job, uint32_t row);

/* sim_quarantine_assigned: it gives a worker work, whose specifications it knows. */
void sim_quarantine_assigned(struct sim *sim, const struct host *host,
                             const struct gw_msg_assign *assign);

/* sim_quarantine_crashed: the scheduler died, and nothing rests in its next life. */
void sim_quarantine_crashed(struct sim *sim);
void sim_quarantine_free(struct sim *sim);

#endif
