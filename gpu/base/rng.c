/* xoshiro256** and splitmix64, written from their public description. The sequences must never
 * change, because the orders of samples in old checkpoints depend on them. */
#include <gangway/rng.h>

#include <math.h>

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

void gw_rng_init(struct gw_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng->state[i] = splitmix64(&seed);
}

uint64_t gw_rng_u64(struct gw_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t gw_rng_below(struct gw_rng *rng, uint64_t bound)
{
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128)gw_rng_u64(rng) * bound;
    if ((uint64_t)product < bound) {
        uint64_t threshold =
            -bound %
            bound; /* 2^64 mod bound: results with a smaller low part would bias the distribution */
        while ((uint64_t)product < threshold)
            product = (u128)gw_rng_u64(rng) * bound;
    }
    return (uint64_t)(product >> 64);
}

double gw_rng_uniform(struct gw_rng *rng)
{
    return (double)(gw_rng_u64(rng) >> 11) * 0x1p-53;
}

double gw_rng_normal(struct gw_rng *rng)
{
    double x, y, square;
    do {
        x = 2 * gw_rng_uniform(rng) - 1;
        y = 2 * gw_rng_uniform(rng) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    return x * sqrt(-2 * log(square) / square);
}
