/* GANGWAY_INLINE=1: the working folder of a task with files. */
#ifndef GW_CLIENT_INLINE_FOLDER_H
#define GW_CLIENT_INLINE_FOLDER_H

#include <gangway/error.h>

struct gw_inline_folder {
    int back; /* descriptor of the working folder before the task; -1: the task has no files */
    char *path;
};

/* gw_inline_folder_open makes a new folder below TMPDIR, copies the files named by `texts` into it,
 * and makes it the working folder of this process (and so of all its threads). Each text is
 * "PATH[:NAME]"; the list ends with NULL. If `texts` is NULL or empty, the function does nothing.
 * Errors: as gw_file_upload_new, and GW_EIO.
 *
 * gw_inline_folder_close returns to the previous working folder and removes the new folder with all
 * files in it. */
int gw_inline_folder_open(const char *const *texts, struct gw_inline_folder *folder,
                          struct gw_error *error);
void gw_inline_folder_close(struct gw_inline_folder *folder);

#endif
