/* Hashes of content: SHA-256, computed by libcrypto. */
#ifndef GW_WIRE_HASH_H
#define GW_WIRE_HASH_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    GW_HASH_BYTES = 32,
    GW_HASH_TEXT_BYTES = 65, /* hexadecimal, with the terminating NUL */
};

/* gw_hash_bytes hashes memory. gw_hash_file hashes the whole content of a descriptor; it returns 0,
 * or GW_EIO with a text. gw_hash_format writes a hash as hexadecimal text. gw_hash_parse reads the
 * first 64 characters of a text as a hash and returns true if they are one. */
void gw_hash_bytes(const void *data, size_t bytes, uint8_t hash[GW_HASH_BYTES]);
int gw_hash_file(int fd, uint8_t hash[GW_HASH_BYTES], struct gw_error *error);
void gw_hash_format(const uint8_t hash[GW_HASH_BYTES], char text[GW_HASH_TEXT_BYTES]);
bool gw_hash_parse(const char *text, uint8_t hash[GW_HASH_BYTES]);

#endif
