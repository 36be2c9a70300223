/* Random numbers that depend on a key only: the same seed, trial and parameter give the same
 * numbers, whatever was drawn before. The generator is splitmix64. */
#ifndef GW_SEARCH_RNG_H
#define GW_SEARCH_RNG_H

#include <stdint.h>

struct gw_rng {
    uint64_t state;
};

static inline uint64_t gw_rng_next(struct gw_rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* gw_rng_keyed returns the generator of three numbers. */
static inline struct gw_rng gw_rng_keyed(uint64_t seed, uint64_t trial, uint64_t param)
{
    struct gw_rng rng = {seed};
    rng.state = gw_rng_next(&rng) ^ trial;
    rng.state = gw_rng_next(&rng) ^ param;
    rng.state = gw_rng_next(&rng);
    return rng;
}

/* gw_rng_unit returns a number from 0 up to, but not including, 1. */
static inline double gw_rng_unit(struct gw_rng *rng)
{
    return (double)(gw_rng_next(rng) >> 11) * 0x1p-53;
}

#endif
