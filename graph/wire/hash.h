/* Hashes of content: SHA-256, by libcrypto. */
#ifndef GW_WIRE_HASH_H
#define GW_WIRE_HASH_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    GW_HASH_BYTES = 32,
    GW_HASH_TEXT_BYTES = 65, /* hexadecimal, terminated */
};

/* gw_hash_bytes hashes memory (SHA-256); gw_hash_file a descriptor's content from its start to its
 * end: 0 or GW_EIO with text. gw_hash_format writes the hexadecimal form;
 * gw_hash_parse reads its first 64 characters, and tells whether that is what they are. */
void gw_hash_bytes(const void *data, size_t bytes, uint8_t hash[GW_HASH_BYTES]);
int gw_hash_file(int fd, uint8_t hash[GW_HASH_BYTES], struct gw_error *error);
void gw_hash_format(const uint8_t hash[GW_HASH_BYTES], char text[GW_HASH_TEXT_BYTES]);
bool gw_hash_parse(const char *text, uint8_t hash[GW_HASH_BYTES]);

#endif
