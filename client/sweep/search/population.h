/* Population based training: the worse trials go on as changed copies of the better ones. */
#ifndef GW_SEARCH_POPULATION_H
#define GW_SEARCH_POPULATION_H

#include "client/sweep/search/state.h"

/* gw_population_judge says how a trial goes on after its last report, and gives it other parameters
 * if it is to copy another one. Returns GW_ENOMEM or 0. */
int gw_population_judge(struct gw_search *search, struct gw_search_trial *trial,
                        enum gw_decision *decision);

#endif
