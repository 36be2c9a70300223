/* The folders of a user: for state and for sockets. */
#ifndef GW_BASE_USER_DIR_H
#define GW_BASE_USER_DIR_H

#include <gangway/error.h>
#include <limits.h>

/* gw_user_dir_state writes the path of this user's state folder on this host: gangway/HOSTNAME in
 * $XDG_STATE_HOME or in ~/.local/state. It does not create the folder. The path contains HOSTNAME
 * because hosts may share home folders. Returns GW_ENOENT if the user has no home folder, GW_EINVAL
 * if the path is too long. */
int gw_user_dir_state(char dir[PATH_MAX], struct gw_error *error);

/* gw_user_dir_runtime creates and checks this user's folder for files that a reboot may delete:
 * `gangway` in $XDG_RUNTIME_DIR or in /run/user/UID if that folder belongs to this user, else
 * /tmp/gangway-UID. Its mode is 0700. Returns GW_EPERM or GW_EIO. */
int gw_user_dir_runtime(char dir[PATH_MAX], struct gw_error *error);

/* gw_user_dir_config writes the path of a file of this user's configuration: gangway/NAME in
 * $XDG_CONFIG_HOME or in ~/.config. The file need not exist. GW_EINVAL: HOME is not set, or the
 * path is too long. GW_USER_DIR_MACHINE is the folder of the configuration for all users. */
#define GW_USER_DIR_MACHINE "/etc/gangway"
int gw_user_dir_config(const char *name, char path[PATH_MAX], struct gw_error *error);

/* gw_user_dir_socket creates and checks a folder in the runtime folder for the sockets of the
 * cluster at `cluster`. Each cluster has its own folder. Its name is short enough for the path of a
 * socket. */
int gw_user_dir_socket(const char *cluster, char dir[PATH_MAX], struct gw_error *error);

#endif
