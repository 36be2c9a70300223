/* The grid: all points of a space, one after another. */
#ifndef GW_SEARCH_GRID_H
#define GW_SEARCH_GRID_H

#include "client/sweep/search/state.h"

/* gw_grid_begin goes to the first point. GW_EINVAL: a parameter is continuous, or no point meets
 * the constraints. GW_ELIMIT: the grid has more than 2^32 cells. */
int gw_grid_begin(struct gw_search *search, struct gw_error *error);

/* gw_grid_take writes the next point. Returns false at the end. */
bool gw_grid_take(struct gw_search *search, double *point);

#endif
