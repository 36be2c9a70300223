/* Blobs: a folder of file contents. The name of each file is the SHA-256 of its content, which was
 * verified. */
#ifndef GW_WIRE_BLOBS_H
#define GW_WIRE_BLOBS_H

#include "graph/wire/hash.h"

#include <limits.h>
#include <stdbool.h>

struct gw_blobs {
    char dir[PATH_MAX - 128];
};

/* gw_blobs_init uses the folder `dir` and creates it with mode 0700 if necessary. Returns 0, or
 * GW_EIO with a text. */
int gw_blobs_init(struct gw_blobs *blobs, const char *dir, struct gw_error *error);

/* gw_blobs_has returns true if the folder has the content with this size and nobody has written to
 * the file since it was added. Otherwise the content may be added again, and replaces the file. */
bool gw_blobs_has(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES], uint64_t bytes);

/* gw_blobs_look checks content whose file seems to have been changed, or that was copied together
 * with its folder. If the content matches its name, it becomes valid again. The function reads
 * files, like gw_blobs_put. */
void gw_blobs_look(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES]);

/* gw_blobs_use records that the content behind an open descriptor is used now. */
void gw_blobs_use(int fd);

/* gw_blobs_put copies the content of a descriptor (borrowed, read from its start) into the folder.
 * Returns GW_ECORRUPT if the content does not have the hash `hash`. Returns GW_EIO for other errors
 * (for example, the disk is full). After an error no file is left. The offset of the descriptor
 * advances with the copy. The function reads and writes files, so it must not run on the thread of
 * the core. Thread-safe. */
int gw_blobs_put(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES], int fd,
                 struct gw_error *error);

/* gw_blobs_take does the same as gw_blobs_put. If nobody can write to the file behind the
 * descriptor (a file of another such folder on the same file system), it makes a link to that file
 * instead of a copy. The content is verified, too. */
int gw_blobs_take(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES], int fd,
                  struct gw_error *error);

/* gw_blobs_trim removes contents, the least recently used first, until at most bytes_max bytes are
 * left. It does not remove a content for which `keeps` returns true. It returns the bytes that are
 * left. A content counts as used when it is added and by gw_blobs_use. Thread-safe. */
uint64_t gw_blobs_trim(const struct gw_blobs *blobs, uint64_t bytes_max,
                       bool (*keeps)(const uint8_t hash[GW_HASH_BYTES], void *arg), void *arg);

/* gw_blobs_open returns a descriptor for reading (close-on-exec), or GW_ENOENT. */
int gw_blobs_open(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES], int *fd,
                  uint64_t *bytes, struct gw_error *error);

/* gw_blobs_path writes the path of a content, which need not exist. */
void gw_blobs_path(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES],
                   char path[PATH_MAX]);

#endif
