/* The files of a checkpoint transfer: those that a worker sends, and those that arrive. Transfers
 * of separate users use these functions in a process of the user (transfer_agent.h). All functions
 * read or write files and may block. One thread at a time may use a transfer. */
#ifndef GW_STORE_TRANSFER_FILES_H
#define GW_STORE_TRANSFER_FILES_H

#include "graph/wire/message.h"

#include <gangway/error.h>

#include <limits.h>
#include <stdbool.h>

struct gw_pack;
struct gw_transfer_files;

/* Where checkpoints are. */
struct gw_transfer_place {
    char dir[PATH_MAX]; /* folder of all checkpoints */
    char here[256];     /* name of this worker and its host, for people */
    uint64_t incarnation, bytes_max;
};

/* gw_transfer_files_beside writes the path of the folder in which transfer `number` collects what
 * source `at` sends. */
void gw_transfer_files_beside(const struct gw_transfer_place *place, uint64_t number, uint32_t at,
                              char *path, size_t bytes);

/* gw_transfer_files_pack lists the files that a request names. It also makes the marker of this
 * worker, if `marks` is true. Returns GW_ENOENT if they do not exist (any more), or an error of
 * gw_pack_open. */
int gw_transfer_files_pack(const struct gw_transfer_place *place,
                           const struct gw_msg_transfer_want *want, bool marks,
                           struct gw_pack **pack, struct gw_error *error);

/* gw_transfer_files_new creates the receiving side of transfer `number`, whose source is what->copy
 * and what->worker, and as many more sources as what->others. Both structs are copied. If `to_copy`
 * is true, the files become a copy that this worker keeps. gw_transfer_files_free removes what was
 * received and not placed, and marks the folder (union.h) if something was. */
struct gw_transfer_files *gw_transfer_files_new(const struct gw_transfer_place *place,
                                                const struct gw_msg_checkpoint_transfer *what,
                                                uint64_t number, bool to_copy);
void gw_transfer_files_free(struct gw_transfer_files *files);

/* gw_transfer_files_own uses the files that this worker itself has as those of the present source.
 * Writes their size. Returns GW_EEXIST if they are where they are to be.
 *
 * gw_transfer_files_open begins to receive from the present source. Returns GW_EEXIST if the source
 * shares the folder, GW_ELIMIT if the files are too large, or an error of gw_unpack_open.
 *
 * gw_transfer_files_take handles a part, and returns 1 after the last one of the source, or an
 * error of gw_unpack_take.
 *
 * After gw_transfer_files_own returns 0, or gw_transfer_files_take returns 1, or for
 * GW_TRANSFER_JOIN after GW_EEXIST, the next source is the present one. */
int gw_transfer_files_own(struct gw_transfer_files *files, uint64_t *bytes, struct gw_error *error);
int gw_transfer_files_open(struct gw_transfer_files *files,
                           const struct gw_msg_transfer_found *found, struct gw_error *error);
int gw_transfer_files_take(struct gw_transfer_files *files, const struct gw_msg_transfer_part *part,
                           struct gw_error *error);

/* gw_transfer_files_lay moves what all sources have sent to its place. Returns GW_EIO, or
 * GW_EMISMATCH of gw_union_join. */
int gw_transfer_files_lay(struct gw_transfer_files *files, struct gw_error *error);

#endif
