/* A user's own folders: where state lies, and where sockets do. */
#ifndef GW_BASE_USER_DIR_H
#define GW_BASE_USER_DIR_H

#include <gangway/error.h>
#include <limits.h>

/* gw_user_dir_state gives this user's folder on this host: gangway/HOSTNAME in $XDG_STATE_HOME, or
 * in ~/.local/state; nothing is made. Homes are shared between hosts: hence HOSTNAME. GW_ENOENT:
 * there is no home; GW_EINVAL: too long a path. */
int gw_user_dir_state(char dir[PATH_MAX], struct gw_error *error);

/* gw_user_dir_runtime makes and checks this user's folder for what is gone with a reboot: gangway
 * in $XDG_RUNTIME_DIR or in /run/user/UID, if that is this user's, else /tmp/gangway-UID; mode
 * 0700. GW_EPERM, GW_EIO. */
int gw_user_dir_runtime(char dir[PATH_MAX], struct gw_error *error);

/* gw_user_dir_socket is a folder in there for the sockets of the cluster at `cluster`: of a name of
 * its own, and short enough for a socket's path. Made and checked likewise. */
int gw_user_dir_socket(const char *cluster, char dir[PATH_MAX], struct gw_error *error);

#endif
