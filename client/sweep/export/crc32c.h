/* The checksum of TFRecords. */
#ifndef GW_SWEEP_CRC32C_H
#define GW_SWEEP_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* gw_crc32c returns the CRC-32C (Castagnoli) of the bytes. */
uint32_t gw_crc32c(const void *bytes, size_t count);

#endif
