/* The grid: all points of a space, one after another. */
#ifndef GW_SEARCH_GRID_H
#define GW_SEARCH_GRID_H

#include "client/sweep/search/state.h"

/* gw_grid_begin goes to the first point. GW_EINVAL: a parameter is continuous, no point meets the
 * constraints, none of the first 1,000,000 does, or the grid has more than 2^32 cells. */
int gw_grid_begin(struct gw_search *search, struct gw_error *error);

/* gw_grid_take writes the next point. GW_ENOENT: the grid has ended. GW_ELIMIT: none of the next
 * 1,000,000 points meets the constraints; the next call goes on behind them. */
int gw_grid_take(struct gw_search *search, double *point, struct gw_error *error);

#endif
