/* Where the ranks of a gang stand: their collectives, by the segment, and their processes, by
 * /proc. */
#ifndef GW_NET_SURVEY_H
#define GW_NET_SURVEY_H

#include "worker/net/link/state.h"

/* gw_host_survey carries out a SURVEY: it is answered by SURVEYED; where it looks
 * closely, that comes some seconds later, from gdb. */
void gw_host_survey(struct gw_host *host, const struct gw_effect *effect);

/* gw_host_surveys_close ends those that are under way; they are not answered. */
void gw_host_surveys_close(struct gw_host *host);

#endif
