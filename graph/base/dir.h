/* Folders of a cluster. They are private to their user and are removed with all their content. */
#ifndef GW_BASE_DIR_H
#define GW_BASE_DIR_H

#include <gangway/error.h>

/* gw_dir_make creates a folder with mode 0700, and its parents if they are missing. If the path
 * exists, it must be a folder (not a link) that belongs to this user and that others cannot access.
 * Otherwise it returns GW_EPERM, with a text that says how to repair it. Returns GW_EIO for other
 * errors. */
int gw_dir_make(const char *path, struct gw_error *error);

/* gw_dir_remove removes a folder with all its content. It does not follow links. It returns 0 if
 * the folder does not exist, and GW_EIO if something could not be removed. */
int gw_dir_remove(const char *path, struct gw_error *error);

#endif
