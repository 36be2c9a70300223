/* A program on this host's disk: a folder <hash>/ with the executable and lib/ with its libraries,
 * made of hard links into a content store (graph/wire/blobs.h). All functions read and write files;
 * none keeps state. */
#ifndef GW_STORE_PROGRAM_H
#define GW_STORE_PROGRAM_H

#include "graph/wire/blobs.h"
#include "graph/wire/manifest.h"

/* gw_program_find tells whether the program lies below dir, and writes the path of its executable.
 */
bool gw_program_find(const char *dir, const uint8_t hash[GW_HASH_BYTES], char path[PATH_MAX]);

/* gw_program_build makes the folder whole, or not at all; when another worker of this host was
 * faster, its folder is taken. Writes the executable's path. GW_EIO, GW_ENOENT (content that the
 * store lacks) with a text. */
struct gw_program_build {
    const char *dir; /* the folder of all programs; there, mode 0700 */
    const struct gw_blobs *blobs;
    const struct gw_manifest *manifest;
    const uint8_t *hash; /* of the program */
};
int gw_program_build(const struct gw_program_build *build, char path[PATH_MAX],
                     struct gw_error *error);

#endif
