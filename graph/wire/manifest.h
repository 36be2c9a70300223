/* A manifest: files by hash of content. Those that make a program: the executable first, its own
 * libraries after it. Or those that tasks find in their working folder: in order of their names,
 * which are paths below it. The hash of either is the SHA-256 of its encoded manifest. */
#ifndef GW_WIRE_MANIFEST_H
#define GW_WIRE_MANIFEST_H

#include "graph/wire/blobs.h"
#include "graph/wire/message.h"

enum {
    GW_MANIFEST_FILES_MAX = 4096,
    GW_MANIFEST_NAME_MAX = 1024,
};

struct gw_manifest_file {
    const char *name; /* of the file alone, or a path below the working folder */
    uint8_t hash[GW_HASH_BYTES];
    uint64_t bytes;
    uint32_t mode; /* permission bits; of a program only the executable bit counts. S_IFLNK besides:
                      it is a link, and its content is where that leads */
};

struct gw_manifest {
    const struct gw_manifest_file *files;
    uint32_t count;
};

/* gw_manifest_name_is_safe tells whether a name leads to a place below the folder that it is taken
 * in: no empty part, no "." and no "..", nothing too long. */
bool gw_manifest_name_is_safe(const char *name);

/* gw_manifest_encode appends the MessagePack form; 0 or GW_ENOMEM. */
int gw_manifest_encode(const struct gw_manifest *manifest, struct gw_buffer *buffer);

/* gw_manifest_decode reads bytes from a peer; names and files go to the arena. Refuses (GW_EPROTO)
 * no files, too many, names that are not safe, and links that lead nowhere or too far to be
 * written. */
int gw_manifest_decode(struct gw_bin bytes, struct gw_arena *arena, struct gw_manifest *manifest,
                       struct gw_error *error);

/* gw_manifest_lacks gives the hashes of content that the store has not, each once: count x
 * GW_HASH_BYTES in `hashes`, at most `most` of them. */
uint32_t gw_manifest_lacks(const struct gw_manifest *manifest, const struct gw_blobs *blobs,
                           uint8_t *hashes, uint32_t most);

#endif
