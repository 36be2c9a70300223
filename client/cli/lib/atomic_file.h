/* Files that appear under their name completely written, or not at all. */
#ifndef GW_CLI_ATOMIC_FILE_H
#define GW_CLI_ATOMIC_FILE_H

#include <gangway/error.h>
#include <stdio.h>

struct gw_atomic_file {
    FILE *file;       /* open for writing */
    const char *path; /* final path of the file; borrowed */
};

/* gw_atomic_file_open makes a temporary file beside `path`, with the mode of the file that it will
 * replace. Only one atomic file may be open at a time. A signal that ends the process removes the
 * temporary file. Returns 0, GW_EINVAL, GW_EIO or GW_ENOMEM. */
int gw_atomic_file_open(struct gw_atomic_file *draft, const char *path, struct gw_error *error);

/* gw_atomic_file_close renames the temporary file to its final path, and replaces a file that has
 * this path. `rc` is the caller's own result: if it is an error, or if the file cannot be written
 * completely, the temporary file is removed. Returns 0, or `rc` with the text of errno, or GW_EIO.
 */
int gw_atomic_file_close(struct gw_atomic_file *draft, int rc, struct gw_error *error);

#endif
