/* The folder of a task's files where it runs inside this process (GANGWAY_INLINE=1). */
#ifndef GW_CLIENT_INLINE_FOLDER_H
#define GW_CLIENT_INLINE_FOLDER_H

#include <gangway/error.h>

struct gw_inline_folder {
    int back; /* where this process was; -1: the task has no files */
    char *path;
};

/* gw_inline_folder_open makes a fresh folder with what "PATH[:NAME]" texts name (NULL-terminated,
 * or NULL: nothing is done), below TMPDIR, and goes there, which all threads of this process see.
 * Errors as gw_file_upload_new has them, and GW_EIO. gw_inline_folder_close goes back and removes
 * it with all that the task left. */
int gw_inline_folder_open(const char *const *texts, struct gw_inline_folder *folder,
                          struct gw_error *error);
void gw_inline_folder_close(struct gw_inline_folder *folder);

#endif
