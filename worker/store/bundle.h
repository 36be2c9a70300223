/* Bundles: a folder of checkpoints in parts, as it is carried from one host to another. All
 * functions read or write files and may block; none is for two threads at once. */
#ifndef GW_STORE_BUNDLE_H
#define GW_STORE_BUNDLE_H

#include "graph/wire/message.h"

#include <gangway/error.h>

#include <stdbool.h>

enum { GW_BUNDLE_ENTRIES_MAX = 100000 };

struct gw_bundle;

/* gw_bundle_open lists what is to be carried: of `folder` the file `name`, or, where that is NULL,
 * all files, folders and links below it (a folder that is not there is an empty one). Files that
 * are neither are passed over. GW_ENOENT: the file is not there; GW_ELIMIT: more than
 * GW_BUNDLE_ENTRIES_MAX; GW_EIO. gw_bundle_close frees it. */
int gw_bundle_open(const char *folder, const char *name, struct gw_bundle **bundle,
                   struct gw_error *error);
void gw_bundle_close(struct gw_bundle *bundle);

/* gw_bundle_since finds which files and links were written after `mark_ns`, by the ctime of their
 * inode; only: the others are left out. To be called before the first part. gw_bundle_written gives
 * the path of the next one that was, from *at on; NULL: there is none. Borrowed. */
void gw_bundle_since(struct gw_bundle *bundle, uint64_t mark_ns, bool only);
const char *gw_bundle_written(const struct gw_bundle *bundle, size_t *at);

/* gw_bundle_files and gw_bundle_bytes tell how much it is. */
uint32_t gw_bundle_files(const struct gw_bundle *bundle);
uint64_t gw_bundle_bytes(const struct gw_bundle *bundle);

/* gw_bundle_next gives the next part, whose texts and data are the bundle's until the next call;
 * the last one's kind is GW_TRANSFER_END, with the hash of all. GW_EAGAIN: the folder has changed
 * since it was listed; GW_EIO. */
int gw_bundle_next(struct gw_bundle *bundle, struct gw_msg_transfer_part *part,
                   struct gw_error *error);

/* gw_bundle_stamp says in a number how a folder looks: other files, sizes or times give another
 * one; 0: it is not there, or empty. */
uint64_t gw_bundle_stamp(const char *folder);

#endif
