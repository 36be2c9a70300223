/* Working folders: private copies of the files of a manifest, out of a content store. All functions
 * read and write files; none keeps state. */
#ifndef GW_STORE_FOLDER_H
#define GW_STORE_FOLDER_H

#include "graph/wire/blobs.h"
#include "graph/wire/manifest.h"

/* gw_folder_lay makes the folder `path` (its parent is there; mode 0700) with every file of the
 * manifest under its name, with its permission bits: copies, which share their blocks with the
 * store where the file system can do that, so that whoever writes into one changes nothing else.
 * What is a link there becomes one.
 * Whole, or not at all: GW_ENOENT (content that the store has not, perhaps not any more), GW_EIO
 * (disk full, say), with a text. */
int gw_folder_lay(const char *path, const struct gw_blobs *blobs,
                  const struct gw_manifest *manifest, struct gw_error *error);

/* gw_folder_count tells how many bytes of disk a folder takes, with all below it, and how many are
 * free beside it. What cannot be looked at counts as nothing. */
void gw_folder_count(const char *path, uint64_t *bytes, uint64_t *free_bytes);

/* gw_folder_sweep removes what workers that are dead left in `dir`, a folder of folders that are
 * named by process. */
void gw_folder_sweep(const char *dir);

#endif
