/* Blobs: a folder of file contents, named by their SHA-256. What lies in it was verified. */
#ifndef GW_WIRE_BLOBS_H
#define GW_WIRE_BLOBS_H

#include "graph/wire/hash.h"

#include <limits.h>
#include <stdbool.h>

struct gw_blobs {
    char dir[PATH_MAX - 128];
};

/* gw_blobs_init uses `dir`, made (0700) where it is not there. 0 or GW_EIO with text. */
int gw_blobs_init(struct gw_blobs *blobs, const char *dir, struct gw_error *error);

/* gw_blobs_has tells whether the content is there, of this size, and nobody has written to it since
 * it was let in; else it may be put again, and takes the place of what is there. */
bool gw_blobs_has(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES], uint64_t bytes);

/* gw_blobs_look reads content that seems to have been written to, or was copied here with its
 * store, and lets it in if it is what its name says. Reads files, as put does. */
void gw_blobs_look(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES]);

/* gw_blobs_use says that content is used now, by an open descriptor of it. */
void gw_blobs_use(int fd);

/* gw_blobs_put copies a descriptor's content (borrowed, read from its start), and lets it in under
 * its name only when its hash is `hash`: GW_ECORRUPT otherwise; GW_EIO (disk full, say) leaves
 * nothing behind. The descriptor's offset goes along. Reads and writes files: not for the thread
 * that decides. Thread-safe. */
int gw_blobs_put(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES], int fd,
                 struct gw_error *error);

/* gw_blobs_take is gw_blobs_put that shares the file itself, where the descriptor is of one that
 * nobody writes to (another store's, on the same file system); its content is verified as well. */
int gw_blobs_take(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES], int fd,
                  struct gw_error *error);

/* gw_blobs_trim removes content, that not used for the longest time first, until at most bytes_max
 * are left or nothing but what `keeps` tells to keep; gives what is left. Content is used when it
 * comes, and by gw_blobs_use. Thread-safe. */
uint64_t gw_blobs_trim(const struct gw_blobs *blobs, uint64_t bytes_max,
                       bool (*keeps)(const uint8_t hash[GW_HASH_BYTES], void *arg), void *arg);

/* gw_blobs_open gives a descriptor for reading, close-on-exec; GW_ENOENT. */
int gw_blobs_open(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES], int *fd,
                  uint64_t *bytes, struct gw_error *error);

/* gw_blobs_path writes where the content lies (whether it is there or not). */
void gw_blobs_path(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES],
                   char path[PATH_MAX]);

#endif
