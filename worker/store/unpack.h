/* Unpacks the parts of a pack to files beside their final place. They are moved there after all
 * parts have arrived and are verified. All functions write files and may block. */
#ifndef GW_STORE_UNPACK_H
#define GW_STORE_UNPACK_H

#include "graph/wire/message.h"

#include <gangway/error.h>

struct gw_unpack;

/* gw_unpack_open creates the folder `path`, whose parent exists. An older folder is removed.
 * Returns GW_ELIMIT if the disk has less than `bytes` bytes free, or GW_EIO. gw_unpack_close frees
 * the structure and removes the folder. */
int gw_unpack_open(const char *path, uint64_t bytes, struct gw_unpack **unpack,
                   struct gw_error *error);
void gw_unpack_close(struct gw_unpack *unpack);

/* gw_unpack_take handles the next part. Returns 0, or 1 after the last part if the hash is correct.
 * Errors: GW_ECORRUPT (wrong hash), GW_EPROTO (a path that leads out of the folder, or parts in a
 * wrong order), GW_EIO. */
int gw_unpack_take(struct gw_unpack *unpack, const struct gw_msg_transfer_part *part,
                   struct gw_error *error);

/* gw_unpack_folder returns the folder, which is valid until it is closed or has replaced another
 * one. gw_unpack_list adds the received files that are marked as written to a list. */
const char *gw_unpack_folder(const struct gw_unpack *unpack);
struct gw_union_part;
void gw_unpack_list(const struct gw_unpack *unpack, struct gw_union_part *part);

/* gw_unpack_lay moves all files into the folder `to`. They replace files of the same names. Other
 * files stay. gw_unpack_replace replaces the whole folder `to` in one step. Both return GW_EIO if
 * they fail. */
int gw_unpack_lay(struct gw_unpack *unpack, const char *to, struct gw_error *error);
int gw_unpack_replace(struct gw_unpack *unpack, const char *to, struct gw_error *error);

#endif
