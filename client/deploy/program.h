/* The program of this process, as it is sent to workers: its executable, and every loaded library
 * from outside the system folders, identified by the SHA-256 of their content. */
#ifndef GW_CLIENT_PROGRAM_H
#define GW_CLIENT_PROGRAM_H

#include "graph/wire/manifest.h"

#include <stdbool.h>

struct gw_program {
    uint8_t hash[GW_HASH_BYTES];
    struct gw_buffer manifest;
    struct gw_manifest_file *files;
    char **paths; /* path of each file on this host */
    uint32_t count;
};

/* gw_program_new lists and hashes the files that are loaded now. The hashes are cached (see
 * hashes.h). Errors: GW_EIO with the name of the file; GW_ENOMEM. */
int gw_program_new(struct gw_program **program, struct gw_error *error);
void gw_program_free(struct gw_program *program);

/* gw_program_open returns a descriptor of the file with this content. *bytes is its size.
 * GW_ENOENT: the program has no such file. */
int gw_program_open(const struct gw_program *program, const uint8_t hash[GW_HASH_BYTES], int *fd,
                    uint64_t *bytes);

/* gw_program_is_system returns true if the path of a library is in a system folder. Every machine
 * with the same system has such a library. */
bool gw_program_is_system(const char *path);

#endif
