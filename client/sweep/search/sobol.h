/* Sobol's sequence: points that fill a space more evenly than random ones. */
#ifndef GW_SEARCH_SOBOL_H
#define GW_SEARCH_SOBOL_H

#include <stdint.h>

enum { GW_SOBOL_DIMENSIONS = 64 };

/* gw_sobol_at returns coordinate `dimension` of point i as 32 bits after the binary point. Points
 * are in the order of the Gray code; the first is 0. */
uint32_t gw_sobol_at(uint32_t dimension, uint32_t i);

#endif
