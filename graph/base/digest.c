/* SipHash-2-4 with 128 bits of output, as defined by Aumasson and Bernstein. It reads eight bytes
 * per step, little-endian. */
#include "graph/base/digest.h"

#include <string.h>

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static void mix(uint64_t v[4], int rounds)
{
    while (rounds-- > 0) {
        v[0] += v[1];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[0] = rotate(v[0], 32);
        v[2] += v[3];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[2] = rotate(v[2], 32);
    }
}

struct gw_digest gw_digest_bytes(struct gw_digest key, const void *data, size_t bytes)
{
    uint64_t v[4] = {
        UINT64_C(0x736f6d6570736575) ^ key.low, UINT64_C(0x646f72616e646f6d) ^ key.high ^ 0xee,
        UINT64_C(0x6c7967656e657261) ^ key.low, UINT64_C(0x7465646279746573) ^ key.high};
    const uint8_t *at = data;
    for (size_t left = bytes;; at += 8, left -= 8) {
        uint64_t word = 0;
        if (left < 8)
            word = (uint64_t)bytes << 56;
        if (left > 0)
            memcpy(&word, at, left < 8 ? left : 8);
        v[3] ^= word;
        mix(v, 2);
        v[0] ^= word;
        if (left < 8)
            break;
    }
    struct gw_digest digest;
    v[2] ^= 0xee;
    mix(v, 4);
    digest.low = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    mix(v, 4);
    digest.high = v[0] ^ v[1] ^ v[2] ^ v[3];
    return digest;
}
