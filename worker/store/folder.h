/* Working folders: private copies of the files of a manifest, taken from a content store. All
 * functions read and write files. None keeps state. */
#ifndef GW_STORE_FOLDER_H
#define GW_STORE_FOLDER_H

#include "graph/wire/blobs.h"
#include "graph/wire/manifest.h"

/* gw_folder_lay creates the folder `path` (mode 0700; its parent exists) with each file of the
 * manifest under its name and with its permission bits. The files are copies. They share their
 * blocks with the store if the file system supports this, so a task that writes to one changes
 * nothing else. Entries that are symbolic links become links. The folder is made completely or not
 * at all. Returns GW_ENOENT if the store does not have the content (any more), or GW_EIO (for
 * example if the disk is full), and sets the error. */
int gw_folder_lay(const char *path, const struct gw_blobs *blobs,
                  const struct gw_manifest *manifest, struct gw_error *error);

/* gw_folder_count returns the disk space that a folder uses, with everything below it, and the free
 * space of its disk. Parts that cannot be read count as 0. A folder of more than entries_max
 * entries has the size INT64_MAX. */
void gw_folder_count(const char *path, uint64_t entries_max, uint64_t *bytes, uint64_t *free_bytes);

/* gw_folder_lock locks a folder (LOCK_SH or LOCK_EX) until the returned descriptor is closed.
 * Returns -1 if the folder is missing, or another process has a lock that excludes this one. */
int gw_folder_lock(const char *path, int operation);

/* gw_folder_sweep removes the folders of dead workers in `dir`. Each folder in `dir` is named by
 * the process id of its worker. */
void gw_folder_sweep(const char *dir);

#endif
