/* Points of a space. */
#ifndef GW_SEARCH_POINT_H
#define GW_SEARCH_POINT_H

#include "client/sweep/search/space.h"

/* gw_point_admits returns whether a point meets all constraints. */
bool gw_point_admits(const struct gw_space *space, const double *point);

/* gw_point_values returns a point as a new dict, or NULL if out of memory. */
struct gw_value *gw_point_values(const struct gw_space *space, const double *point);

#endif
