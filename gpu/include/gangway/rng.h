/* A random number generator that gives the same numbers on every machine: xoshiro256** 1.0
 * (Blackman, Vigna, "Scrambled linear pseudorandom number generators", 2018). splitmix64 fills its
 * 256 bits of state from a seed. It is not suitable for secrets. A generator is used by one thread
 * at a time. */
#ifndef GANGWAY_RNG_H
#define GANGWAY_RNG_H

#include <gangway/error.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The whole state. To save or restore a generator, copy this struct (32 bytes). */
struct gw_rng {
    uint64_t state[4];
};

/* gw_rng_init starts the sequence of numbers of a seed. Every seed is equally good. A generator
 * needs no cleanup. */
GW_API void gw_rng_init(struct gw_rng *rng, uint64_t seed);

/* gw_rng_u64 returns 64 random bits. */
GW_API uint64_t gw_rng_u64(struct gw_rng *rng);

/* gw_rng_below returns a number from 0 to bound - 1, without bias (Lemire 2019); bound > 0. */
GW_API uint64_t gw_rng_below(struct gw_rng *rng, uint64_t bound);

/* gw_rng_uniform returns a number in [0, 1): 53 bits, equally spaced. */
GW_API double gw_rng_uniform(struct gw_rng *rng);

/* gw_rng_normal returns a number of the standard normal distribution (Marsaglia's polar method).
 * The method makes two numbers; the second one is discarded, so that struct gw_rng is the whole
 * state. */
GW_API double gw_rng_normal(struct gw_rng *rng);

#ifdef __cplusplus
}
#endif

#endif
