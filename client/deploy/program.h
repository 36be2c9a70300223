/* This process's program as it is shipped: its executable, and every library that was loaded from
 * outside the system's folders, by SHA-256 of content. */
#ifndef GW_CLIENT_PROGRAM_H
#define GW_CLIENT_PROGRAM_H

#include "graph/wire/manifest.h"

#include <stdbool.h>

struct gw_program {
    uint8_t hash[GW_HASH_BYTES];
    struct gw_buffer manifest;
    struct gw_manifest_file *files;
    char **paths; /* of each file */
    uint32_t count;
};

/* gw_program_new looks at what is loaded now and hashes it; hashes are remembered by (device,
 * inode, size, time of change) in $XDG_CACHE_HOME/gangway or ~/.cache/gangway, as far as that can
 * be written. GW_EIO with the file's name, GW_ENOMEM. */
int gw_program_new(struct gw_program **program, struct gw_error *error);
void gw_program_free(struct gw_program *program);

/* gw_program_open gives a descriptor of the file with this content; GW_ENOENT when the program has
 * none. *bytes is its size. */
int gw_program_open(const struct gw_program *program, const uint8_t hash[GW_HASH_BYTES], int *fd,
                    uint64_t *bytes);

/* gw_program_is_system tells whether a library's path lies in the system's folders, and so is
 * there on every machine of the same kind. */
bool gw_program_is_system(const char *path);

#endif
