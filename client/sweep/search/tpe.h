/* TPE: tree-structured Parzen estimator, one parameter at a time. */
#ifndef GW_SEARCH_TPE_H
#define GW_SEARCH_TPE_H

#include "client/sweep/search/rng.h"
#include "client/sweep/search/state.h"

/* gw_tpe_split marks the best trials, which the next draws want to resemble. */
void gw_tpe_split(struct gw_search *search);

/* gw_tpe_draw returns a value of parameter i. Returns GW_ENOMEM or 0. */
int gw_tpe_draw(const struct gw_search *search, size_t i, struct gw_rng *rng, double *value);

#endif
