/* A manifest: the files that make a program, by hash of content. The executable comes first, its
 * own libraries after it. A program's hash is the SHA-256 of its encoded manifest. */
#ifndef GW_WIRE_MANIFEST_H
#define GW_WIRE_MANIFEST_H

#include "graph/wire/hash.h"
#include "graph/wire/message.h"

enum {
    GW_MANIFEST_FILES_MAX = 1024,
};

struct gw_manifest_file {
    const char *name; /* of the file alone, without a folder */
    uint8_t hash[GW_HASH_BYTES];
    uint64_t bytes;
    uint32_t mode; /* permission bits; only the executable bit counts */
};

struct gw_manifest {
    const struct gw_manifest_file *files;
    uint32_t count;
};

/* gw_manifest_encode appends the MessagePack form; 0 or GW_ENOMEM. */
int gw_manifest_encode(const struct gw_manifest *manifest, struct gw_buffer *buffer);

/* gw_manifest_decode reads bytes from a peer; names and files go to the arena. Refuses (GW_EPROTO)
 * no files, too many, and names that are empty, hold a slash, or begin with a dot. */
int gw_manifest_decode(struct gw_bin bytes, struct gw_arena *arena, struct gw_manifest *manifest,
                       struct gw_error *error);

#endif
