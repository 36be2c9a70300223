/* Unpacking: the parts of a bundle become files, beside the place where they are to lie; they go
 * there when all have come, and are what was sent. All functions write files and may block. */
#ifndef GW_STORE_UNPACK_H
#define GW_STORE_UNPACK_H

#include "graph/wire/message.h"

#include <gangway/error.h>

struct gw_unpack;

/* gw_unpack_open makes the folder `path` (what is there goes), whose parent is there. GW_ELIMIT:
 * its disk has less than `bytes` left; GW_EIO. gw_unpack_close frees it, and removes the folder. */
int gw_unpack_open(const char *path, uint64_t bytes, struct gw_unpack **unpack,
                   struct gw_error *error);
void gw_unpack_close(struct gw_unpack *unpack);

/* gw_unpack_take takes the next part: 0, or 1 with the last one, where all is as it was sent;
 * GW_ECORRUPT where it is not; GW_EPROTO: a path that leads out of the folder, or parts in a wrong
 * order; GW_EIO. */
int gw_unpack_take(struct gw_unpack *unpack, const struct gw_msg_transfer_part *part,
                   struct gw_error *error);

/* gw_unpack_folder gives the folder, until it is closed or has replaced another; gw_unpack_list
 * adds to a list what came as written. */
const char *gw_unpack_folder(const struct gw_unpack *unpack);
struct gw_union_part;
void gw_unpack_list(const struct gw_unpack *unpack, struct gw_union_part *part);

/* gw_unpack_lay puts all files into the folder `to`, each over the one that has its name there;
 * what else is there stays. gw_unpack_replace makes them all that there is in `to`, in one step.
 * GW_EIO. */
int gw_unpack_lay(struct gw_unpack *unpack, const char *to, struct gw_error *error);
int gw_unpack_replace(struct gw_unpack *unpack, const char *to, struct gw_error *error);

#endif
