/* The median rule: a trial ends early if it is worse than the others were on average. */
#ifndef GW_SEARCH_MEDIAN_H
#define GW_SEARCH_MEDIAN_H

#include "client/sweep/search/state.h"

/* gw_median_judge says whether a trial goes on after its last report. Returns GW_ENOMEM or 0. */
int gw_median_judge(const struct gw_search *search, const struct gw_search_trial *trial,
                    enum gw_decision *decision);

#endif
