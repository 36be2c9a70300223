/* Workers that failed gangs, or could not lay files: what may not be placed there meanwhile. */
#ifndef GW_TESTS_SIM_COOLING_H
#define GW_TESTS_SIM_COOLING_H

#include "tests/sim/sim.h"

/* sim_cooling_before: the scheduler is about to take an event; sim_cooling_stepped: it has. */
void sim_cooling_before(struct sim *sim, const struct gw_event *event);
void sim_cooling_stepped(struct sim *sim, const struct gw_event *event);

/* sim_cooling_ended: before this step a task's gang was being ended already, for what came earlier.
 */
bool sim_cooling_ended(const struct sim *sim, uint64_t job, uint32_t row);

/* sim_cooling_assigned: it gives a worker work, whose specifications it knows. */
void sim_cooling_assigned(struct sim *sim, const struct host *host,
                          const struct gw_msg_assign *assign);

/* sim_cooling_crashed: the scheduler died, and nothing rests in its next life. */
void sim_cooling_crashed(struct sim *sim);
void sim_cooling_free(struct sim *sim);

#endif
