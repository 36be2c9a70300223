/* What users ask of gangs, over all lives of the scheduler; see ask.c. */
#ifndef GW_TESTS_SIM_ASK_H
#define GW_TESTS_SIM_ASK_H

#include "tests/sim/sim.h"

/* sim_ask_on_went: a rank of a gang goes; its client may tell it to stop soon. */
void sim_ask_on_went(struct sim *sim, const struct row *row);
/* sim_ask_returned: what a rank of a function returns there is its result. */
void sim_ask_returned(struct sim *sim, const struct row *row, const struct host *host);
/* sim_ask_stepped looks at what a step has done with an event, before any of its effects is carried
 * out. sim_ask_crashed: the scheduler is dead; what it wrote beyond sim->facts is lost. */
void sim_ask_stepped(struct sim *sim, const struct gw_event *event);
void sim_ask_crashed(struct sim *sim);
void sim_ask_free(struct sim *sim);

#endif
