/* Spilled results: one file per result, in a folder that only one worker uses. All functions may
 * block on the disk and may be called on any thread. */
#ifndef GW_STORE_SPILLFILE_H
#define GW_STORE_SPILLFILE_H

#include <gangway/error.h>
#include <limits.h>
#include <stdint.h>

/* gw_spillfile_folder creates the worker's folder below `parent` and locks it as long as *lock_fd
 * (close-on-exec) is open. It first removes the folders of workers that are gone. If `parent` is
 * NULL, it uses state_dir or, if that is in memory or on a network file system, /var/tmp, the
 * system's folder for large temporary files. Returns GW_EIO or GW_EPERM and sets the error if it
 * fails. */
int gw_spillfile_folder(const char *parent, const char *state_dir, char path[PATH_MAX],
                        int *lock_fd, struct gw_error *error);

/* Size and checksum of a file. */
struct gw_spillfile {
    uint64_t bytes;
    uint32_t checksum;
};

/* gw_spillfile_write writes file->bytes bytes of a memory descriptor to a new file, sets the
 * checksum, and returns the file opened for reading. Returns GW_EIO and sets the error if it fails.
 * No file is left then. */
int gw_spillfile_write(const char *path, int memory_fd, struct gw_spillfile *file, int *fd,
                       struct gw_error *error);

/* gw_spillfile_open opens a file and verifies it completely. Returns GW_ECORRUPT if its content
 * differs from what was written, or GW_EIO, and sets the error. */
int gw_spillfile_open(const char *path, const struct gw_spillfile *file, int *fd,
                      struct gw_error *error);

#endif
