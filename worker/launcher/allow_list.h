/* The list of users whom the launcher may start: /etc/gangway/users.
 *
 * Each line is NAME (the Gangway user and the Unix user have this name), NAME:UNIXNAME, or @GROUP
 * (each member of a Unix group, under its own name). `#` begins a comment. */
#ifndef GW_LAUNCHER_ALLOW_LIST_H
#define GW_LAUNCHER_ALLOW_LIST_H

#include <gangway/error.h>

#include <stdbool.h>
#include <stddef.h>

enum { GW_ALLOW_LIST_BYTES_MAX = 1 << 20, GW_UNIX_NAME_MAX = 32 };

/* gw_allow_list_read reads the list. Returns GW_ENOENT if there is none, and GW_EPERM, with what to
 * do, if anybody but root could have written it: the file and its folder must belong to root, must
 * not be writable by others, and must not be symbolic links; GW_ELIMIT; GW_EIO. The caller frees
 * *text. */
int gw_allow_list_read(const char *folder, const char *name, char **text, struct gw_error *error);

/* gw_allow_list_find finds the Unix user of a Gangway user. is_member tells if a Unix user is in a
 * group. Returns GW_EPERM if the list does not have the user, and GW_ECORRUPT with the number of
 * the line if any line of the list is malformed. */
int gw_allow_list_find(const char *text, const char *user,
                       bool (*is_member)(const char *user, const char *group),
                       char unix_name[GW_UNIX_NAME_MAX + 1], struct gw_error *error);

#endif
