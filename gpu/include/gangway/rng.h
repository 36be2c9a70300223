/* A random generator whose numbers are the same everywhere: xoshiro256** 1.0 (Blackman, Vigna,
 * "Scrambled linear pseudorandom number generators", 2018), its 256 bits of state filled by
 * splitmix64 from a seed. Not for secrets. A generator is used by one thread at a time. */
#ifndef GANGWAY_RNG_H
#define GANGWAY_RNG_H

#include <gangway/error.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copy it to save or restore the state (a checkpoint holds these 32 bytes). */
struct gw_rng {
    uint64_t state[4];
};

/* gw_rng_init starts the sequence of a seed; every seed is good. Nothing to deinit. */
GW_API void gw_rng_init(struct gw_rng *rng, uint64_t seed);

/* gw_rng_u64 returns 64 random bits. */
GW_API uint64_t gw_rng_u64(struct gw_rng *rng);

/* gw_rng_below returns a number from 0 to bound - 1, without bias (Lemire 2019); bound > 0. */
GW_API uint64_t gw_rng_below(struct gw_rng *rng, uint64_t bound);

/* gw_rng_uniform returns a number in [0, 1): 53 bits, equally spaced. */
GW_API double gw_rng_uniform(struct gw_rng *rng);

/* gw_rng_normal returns a number of the standard normal distribution (Marsaglia's polar method; the
 * second number of a pair is thrown away, so that the state is all there is). */
GW_API double gw_rng_normal(struct gw_rng *rng);

#ifdef __cplusplus
}
#endif

#endif
