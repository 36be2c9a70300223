/* Folders that belong to a cluster: private to their user, and removed whole. */
#ifndef GW_BASE_DIR_H
#define GW_BASE_DIR_H

#include <gangway/error.h>

/* gw_dir_make makes a folder of mode 0700, with those above it that are missing. One that is there
 * already must be a folder (not a link to one) of this user's and closed to others: GW_EPERM with a
 * text that says how to mend it; GW_EIO. */
int gw_dir_make(const char *path, struct gw_error *error);

/* gw_dir_remove removes a folder with all that is in it, never following a link out of it; nothing
 * there is no error. GW_EIO when something stays. */
int gw_dir_remove(const char *path, struct gw_error *error);

#endif
