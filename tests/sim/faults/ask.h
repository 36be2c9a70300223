/* Stop requests of users for gangs, in all terms of the scheduler; see ask.c. */
#ifndef GW_TESTS_SIM_ASK_H
#define GW_TESTS_SIM_ASK_H

#include "tests/sim/sim.h"

/* sim_ask_on_went: a rank of a gang starts. Its client may soon ask the gang to stop. */
void sim_ask_on_went(struct sim *sim, const struct row *row);
/* sim_ask_returned: a rank of a function returns, and the returned value is its result. */
void sim_ask_returned(struct sim *sim, const struct row *row, const struct host *host);
/* sim_ask_stepped checks the result of a step before its effects are executed. sim_ask_crashed: the
 * scheduler has died, and the facts after sim->facts are lost. */
void sim_ask_stepped(struct sim *sim, const struct gw_event *event);
void sim_ask_crashed(struct sim *sim);
void sim_ask_free(struct sim *sim);

#endif
