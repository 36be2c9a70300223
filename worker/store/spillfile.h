/* Results on disk, a file each, in a folder that one worker has for itself. Plain functions; each
 * may take as long as the disk does, and may run on any thread. */
#ifndef GW_STORE_SPILLFILE_H
#define GW_STORE_SPILLFILE_H

#include <gangway/error.h>
#include <limits.h>
#include <stdint.h>

/* gw_spillfile_folder makes the worker's folder below `parent` and keeps it locked by *lock_fd as
 * long as that is open (close-on-exec); folders of workers that are gone are removed first. parent
 * NULL: state_dir, or if that lies in memory or on the network the system's folder for large
 * temporary files, /var/tmp. GW_EIO, GW_EPERM with text. */
int gw_spillfile_folder(const char *parent, const char *state_dir, char path[PATH_MAX],
                        int *lock_fd, struct gw_error *error);

/* What was written. */
struct gw_spillfile {
    uint64_t bytes;
    uint32_t checksum;
};

/* gw_spillfile_write writes file->bytes of a descriptor of memory to a new file, sets the checksum
 * and gives the file, open for reading. GW_EIO with text; then no file is left. */
int gw_spillfile_write(const char *path, int memory_fd, struct gw_spillfile *file, int *fd,
                       struct gw_error *error);

/* gw_spillfile_open opens a file that holds what was written, bit by bit: GW_ECORRUPT where it does
 * not, GW_EIO; with text. */
int gw_spillfile_open(const char *path, const struct gw_spillfile *file, int *fd,
                      struct gw_error *error);

#endif
