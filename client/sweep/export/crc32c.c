/* CRC-32C, a bit at a time: the files are small. */
#include "client/sweep/export/crc32c.h"

uint32_t gw_crc32c(const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    uint32_t sum = ~0u;
    while (count--) {
        sum ^= *at++;
        for (int bit = 0; bit < 8; bit++)
            sum = (sum >> 1) ^ (sum & 1 ? 0x82f63b78u : 0);
    }
    return ~sum;
}
