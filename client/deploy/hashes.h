/* Hashes of files, remembered from one process to the next. */
#ifndef GW_CLIENT_HASHES_H
#define GW_CLIENT_HASHES_H

#include "graph/wire/hash.h"

#include <sys/stat.h>

/* gw_hashes_of gives the SHA-256 of a file's content, by its descriptor; it is remembered by
 * (device, inode, size, time of change) in $XDG_CACHE_HOME/gangway or ~/.cache/gangway, as far as
 * that can be written. GW_EIO; GW_EAGAIN: the file was changed meanwhile; the text does not name
 * the file. */
int gw_hashes_of(int fd, uint8_t hash[GW_HASH_BYTES], struct gw_error *error);

/* gw_hashes_lie_in tells whether this is the file of what is remembered, which any process of this
 * user may change at any time. */
bool gw_hashes_lie_in(const struct stat *info);

#endif
