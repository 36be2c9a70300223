/* Where schedulers listen: addresses, this user's folder for clusters, connecting. */
#ifndef GW_CLIENT_ADDRESS_H
#define GW_CLIENT_ADDRESS_H

#include <gangway/error.h>
#include <limits.h>
#include <stdbool.h>

#define GW_ADDRESS_SOCKET "scheduler.sock"

enum { GW_ADDRESS_TCP_MAX = 256, GW_ADDRESS_USER_BYTES = 33 };

struct gw_transport;

/* gw_address_parse gives the path of a socket in "unix:/path", or (*tcp) HOST:PORT in "HOST:PORT"
 * or "tcp:HOST:PORT": borrowed from the text. GW_EINVAL for anything else. */
int gw_address_parse(const char *address, const char **place, bool *tcp, struct gw_error *error);

/* gw_address_default_dir is the folder of this user's running cluster (gw_user_dir_state); made,
 * for this user only. GW_ENOENT, GW_EPERM, GW_EIO. */
int gw_address_default_dir(char dir[PATH_MAX], struct gw_error *error);

/* gw_address_default_socket is where this user's running cluster is reached: a link in its folder;
 * nothing is made. It is there from when a cluster is started until it is taken down. */
int gw_address_default_socket(char path[PATH_MAX], struct gw_error *error);

/* gw_address_connect connects to a scheduler's socket: a descriptor (close-on-exec) for the caller.
 * GW_ENOSCHEDULER when nobody listens there. */
int gw_address_connect(const char *path, int *fd, struct gw_error *error);

/* gw_address_connect_tcp connects to HOST:PORT (a name is looked up) by this machine's token
 * (gw_token_file_own); the transport is the caller's, its handshake still to be made. Blocks for at
 * most 10 s. GW_ENOSCHEDULER when nobody listens there, GW_EINVAL, and what gw_token_file_own
 * gives. */
int gw_address_connect_tcp(const char *place, struct gw_transport **transport,
                           struct gw_error *error);

/* gw_address_read_note gives where this user's running cluster listens by TCP ("HOST:PORT"), as its
 * scheduler noted it in the default folder. GW_ENOENT: it does not. */
int gw_address_read_note(char address[GW_ADDRESS_TCP_MAX], struct gw_error *error);

/* gw_address_read_missed gives where its last life listened, and this one could not, for somebody
 * else does. GW_ENOENT: nothing of that kind. */
int gw_address_read_missed(char address[GW_ADDRESS_TCP_MAX], struct gw_error *error);

/* gw_address_user gives the name of this process's user, or "user" where it has none that a token
 * may have. */
void gw_address_user(char user[GW_ADDRESS_USER_BYTES]);

#endif
