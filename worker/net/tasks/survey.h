/* Surveys: what the ranks of a gang are doing. The shared memory segment shows their collectives,
 * /proc shows their processes. */
#ifndef GW_NET_SURVEY_H
#define GW_NET_SURVEY_H

#include "worker/net/link/state.h"

/* gw_host_survey carries out the effect SURVEY. The result comes as the event SURVEYED. If stacks
 * are wanted, gdb runs, and the event comes some seconds later. */
void gw_host_survey(struct gw_host *host, const struct gw_effect *effect);

/* gw_host_surveys_close ends all surveys in progress without an event. */
void gw_host_surveys_close(struct gw_host *host);

#endif
