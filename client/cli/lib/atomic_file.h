/* Drafts: files that appear under their name whole, or not at all. */
#ifndef GW_CLI_ATOMIC_FILE_H
#define GW_CLI_ATOMIC_FILE_H

#include <gangway/error.h>
#include <stdio.h>

struct gw_atomic_file {
    FILE *file;       /* to be written to */
    const char *path; /* what it is to be; borrowed */
};

/* gw_atomic_file_open makes a file of a name of its own beside `path`, where one is at a time; it
 * has the mode of what it is to replace. A signal that ends the process removes it. 0, GW_EIO,
 * GW_ENOMEM.
 */
int gw_atomic_file_open(struct gw_atomic_file *draft, const char *path, struct gw_error *error);

/* gw_atomic_file_close gives the draft its name, in the place of what had it; removes it where rc,
 * of who wrote it, is an error, and where it could not all be written. 0, or why: rc with what
 * errno says, or GW_EIO. */
int gw_atomic_file_close(struct gw_atomic_file *draft, int rc, struct gw_error *error);

#endif
