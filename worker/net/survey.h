/* Where the ranks of a gang stand: their collectives, by the segment, and their processes, by
 * /proc. */
#ifndef GW_NET_SURVEY_H
#define GW_NET_SURVEY_H

#include "worker/net/host.h"

/* gw_host_survey carries out a SURVEY: it is answered by SURVEYED. */
void gw_host_survey(struct gw_host *host, const struct gw_effect *effect);

#endif
