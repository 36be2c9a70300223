/* A manifest: a list of files with the hashes of their contents. The files of a program: the
 * executable first, then its own libraries. Or the files that tasks find in their working folder:
 * sorted by name, and each name is a path below that folder. The hash of a program or of files is
 * the SHA-256 of the encoded manifest. */
#ifndef GW_WIRE_MANIFEST_H
#define GW_WIRE_MANIFEST_H

#include "graph/wire/blobs.h"
#include "graph/wire/message.h"

enum {
    GW_MANIFEST_FILES_MAX = 4096,
    GW_MANIFEST_NAME_MAX = 1024,
};

struct gw_manifest_file {
    const char *name; /* name of a file, or a path below the working folder */
    uint8_t hash[GW_HASH_BYTES];
    uint64_t bytes;
    uint32_t mode; /* permission bits; for a program only the executable bit is used. With S_IFLNK:
                      a symbolic link, and its content is its target */
};

struct gw_manifest {
    const struct gw_manifest_file *files;
    uint32_t count;
};

/* gw_manifest_name_is_safe returns true if a name leads to a place below the folder: no empty part,
 * no "." or "..", not too long. */
bool gw_manifest_name_is_safe(const char *name);

/* gw_manifest_encode appends the MessagePack form. Returns 0 or GW_ENOMEM. */
int gw_manifest_encode(const struct gw_manifest *manifest, struct gw_buffer *buffer);

/* gw_manifest_decode decodes a manifest from a peer. Names and files are allocated in the arena.
 * Returns GW_EPROTO for no files, too many files, unsafe names, and links without a target or with
 * a target that is too long. */
int gw_manifest_decode(struct gw_bin bytes, struct gw_arena *arena, struct gw_manifest *manifest,
                       struct gw_error *error);

/* gw_manifest_lacks writes the hashes of contents that the store does not have, each once: count x
 * GW_HASH_BYTES bytes in `hashes`, and at most `most` hashes. It returns the count. */
uint32_t gw_manifest_lacks(const struct gw_manifest *manifest, const struct gw_blobs *blobs,
                           uint8_t *hashes, uint32_t most);

#endif
