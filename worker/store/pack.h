/* Bundles: a checkpoint folder, or one file of it, split into parts for the transfer to another
 * host. All functions read or write files and may block. They must not be called for the same
 * pack by two threads at once. */
#ifndef GW_STORE_PACK_H
#define GW_STORE_PACK_H

#include "graph/wire/message.h"

#include <gangway/error.h>

#include <stdbool.h>

enum { GW_PACK_ENTRIES_MAX = 100000 };

struct gw_pack;

/* gw_pack_open lists what is to be transferred: the file `name` of `folder` or, if `name` is
 * NULL, all files, folders and symbolic links below it. A missing folder counts as empty. Other
 * kinds of files are ignored. Returns GW_ENOENT if the file is missing, GW_ELIMIT for more than
 * GW_PACK_ENTRIES_MAX entries, or GW_EIO. gw_pack_close frees the pack. */
int gw_pack_open(const char *folder, const char *name, struct gw_pack **pack,
                 struct gw_error *error);
void gw_pack_close(struct gw_pack *pack);

/* gw_pack_since finds the files and links that were written after `mark_ns`, by the ctime of
 * their inode. If `only` is true, all others are left out. It must be called before the first part.
 * gw_pack_written returns the path of the next written file from *at on, or NULL. The path is
 * borrowed. */
void gw_pack_since(struct gw_pack *pack, uint64_t mark_ns, bool only);
const char *gw_pack_written(const struct gw_pack *pack, size_t *at);

/* gw_pack_files and gw_pack_bytes return the number of files and their total size. */
uint32_t gw_pack_files(const struct gw_pack *pack);
uint64_t gw_pack_bytes(const struct gw_pack *pack);

/* gw_pack_next returns the next part. Its texts and data are valid until the next call. The last
 * part has the kind GW_TRANSFER_END and the hash of all parts. Returns GW_EAGAIN if the folder has
 * changed since it was listed, or GW_EIO. */
int gw_pack_next(struct gw_pack *pack, struct gw_msg_transfer_part *part, struct gw_error *error);

/* gw_pack_stamp returns a number that describes the state of a folder. Other files, sizes or
 * times give another number. 0: the folder is missing or empty. */
uint64_t gw_pack_stamp(const char *folder);

#endif
