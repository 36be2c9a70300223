/* Addresses of schedulers, this user's folder for clusters, and connecting. */
#ifndef GW_CLIENT_ADDRESS_H
#define GW_CLIENT_ADDRESS_H

#include <gangway/error.h>
#include <limits.h>
#include <stdbool.h>

#define GW_ADDRESS_SOCKET "scheduler.sock"

enum { GW_ADDRESS_TCP_MAX = 256, GW_ADDRESS_USER_BYTES = 33 };

struct gw_transport;

/* gw_address_parse splits an address. *place becomes the path in "unix:/path", or, with *tcp set,
 * HOST:PORT in "HOST:PORT" or "tcp:HOST:PORT". *place points into `address`. GW_EINVAL: malformed
 * address. */
int gw_address_parse(const char *address, const char **place, bool *tcp, struct gw_error *error);

/* gw_address_default_dir returns the folder of this user's running cluster (gw_user_dir_state). It
 * makes the folder if necessary, with access for this user only. Errors: GW_ENOENT, GW_EPERM,
 * GW_EIO. */
int gw_address_default_dir(char dir[PATH_MAX], struct gw_error *error);

/* gw_address_default_socket returns the path of a link to the socket of this user's running
 * cluster. It does not make anything. The link exists from the start of a cluster until `gangway
 * down`. */
int gw_address_default_socket(char path[PATH_MAX], struct gw_error *error);

/* gw_address_connect connects to a scheduler's socket. The caller owns the descriptor, which is
 * close-on-exec. GW_ENOSCHEDULER: no process listens there. */
int gw_address_connect(const char *path, int *fd, struct gw_error *error);

/* gw_address_connect_tcp connects to HOST:PORT with this machine's token (gw_token_file_own). A
 * host name is resolved. The caller owns the transport, whose handshake is not made yet. It blocks
 * for at most 10 s. Errors: GW_ENOSCHEDULER: no process listens there; GW_EINVAL: malformed
 * address; the errors of gw_token_file_own. */
int gw_address_connect_tcp(const char *place, struct gw_transport **transport,
                           struct gw_error *error);

/* gw_address_read_note returns the TCP address ("HOST:PORT") of this user's running cluster. The
 * scheduler writes it to a file in the default folder. GW_ENOENT: the cluster does not listen by
 * TCP. */
int gw_address_read_note(char address[GW_ADDRESS_TCP_MAX], struct gw_error *error);

/* gw_address_read_missed returns the TCP address at which the scheduler listened in its last term,
 * if it could not listen there again because another process does. GW_ENOENT: there is no such
 * address. */
int gw_address_read_missed(char address[GW_ADDRESS_TCP_MAX], struct gw_error *error);

/* gw_address_read_default returns the address that an admin or the user has chosen for programs of
 * this user without a cluster of their own: the first line of ~/.config/gangway/address, else of
 * /etc/gangway/address. GW_ENOENT (without a text): there is neither. GW_EINVAL: malformed; GW_EIO.
 */
int gw_address_read_default(char address[GW_ADDRESS_TCP_MAX], struct gw_error *error);

/* gw_address_user returns the name of this process's user, or "user" if the name is not allowed in
 * a token. */
void gw_address_user(char user[GW_ADDRESS_USER_BYTES]);

#endif
