/* Programs on this host's disk. Each is a folder <hash>/ with the executable and its libraries in
 * lib/. The files are hard links into a content store (graph/wire/blobs.h). All functions read and
 * write files. None keeps state. */
#ifndef GW_STORE_PROGRAM_H
#define GW_STORE_PROGRAM_H

#include "graph/wire/blobs.h"
#include "graph/wire/manifest.h"

/* gw_program_find returns true if the program exists below `dir`, and writes the path of its
 * executable. */
bool gw_program_find(const char *dir, const uint8_t hash[GW_HASH_BYTES], char path[PATH_MAX]);

/* gw_program_build creates the program's folder completely or not at all. If another worker of this
 * host was faster, its folder is used. Writes the path of the executable. Returns GW_EIO, or
 * GW_ENOENT if the store lacks content, and sets the error. */
struct gw_program_build {
    const char *dir; /* folder of all programs; exists, mode 0700 */
    const struct gw_blobs *blobs;
    const struct gw_manifest *manifest;
    const uint8_t *hash; /* hash of the program */
};
int gw_program_build(const struct gw_program_build *build, char path[PATH_MAX],
                     struct gw_error *error);

#endif
