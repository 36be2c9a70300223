/* Hashes of files, cached on disk between processes. */
#ifndef GW_CLIENT_HASHES_H
#define GW_CLIENT_HASHES_H

#include "graph/wire/hash.h"

#include <sys/stat.h>

/* gw_hashes_of computes the SHA-256 of the content of an open file. The result is cached by
 * (device, inode, size, time of change) in $XDG_CACHE_HOME/gangway or ~/.cache/gangway if that
 * folder can be written. Errors: GW_EIO; GW_EAGAIN: the file changed meanwhile. The error text does
 * not contain the name of the file. */
int gw_hashes_of(int fd, uint8_t hash[GW_HASH_BYTES], struct gw_error *error);

/* gw_hashes_lie_in returns true if this file is the cache file. Any process of this user may change
 * that file at any time. */
bool gw_hashes_lie_in(const struct stat *info);

#endif
