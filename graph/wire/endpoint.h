/* Endpoints: addresses of daemons. "/path" is a Unix socket; "HOST:PORT" and "[V6]:PORT" are TCP.
 * All sockets are non-blocking and close-on-exec. */
#ifndef GW_WIRE_ENDPOINT_H
#define GW_WIRE_ENDPOINT_H

#include <gangway/error.h>
#include <stdbool.h>

enum { GW_ENDPOINT_INTERFACE_BYTES = 16 };
enum {
    GW_ENDPOINT_TEXT_MAX = 128
}; /* including the terminating NUL; long enough for the path of a Unix socket */

/* gw_endpoint_is_tcp returns true for a TCP endpoint. */
bool gw_endpoint_is_tcp(const char *endpoint);

/* gw_endpoint_check returns GW_EINVAL with a text if endpoint is not a valid "HOST:PORT", or PORT
 * is 0. It does not look up HOST. */
int gw_endpoint_check(const char *endpoint, struct gw_error *error);

/* gw_endpoint_resolve writes the numeric form of "HOST:PORT". HOST may be a name: the look-up
 * blocks. PORT is required. Returns 0, or GW_EINVAL with a text. */
int gw_endpoint_resolve(const char *endpoint, char numeric[GW_ENDPOINT_TEXT_MAX],
                        struct gw_error *error);

/* gw_endpoint_host writes the HOST of "HOST:PORT", without the brackets of "[V6]:PORT". */
void gw_endpoint_host(const char *endpoint, char host[GW_ENDPOINT_TEXT_MAX]);

/* gw_endpoint_route writes the local address (without a port) from which this host sends to a
 * numeric "HOST:PORT" or "HOST", and the name of its network interface ("" if unknown). It sends
 * nothing. Returns 0, or GW_EIO with a text if there is no route. */
int gw_endpoint_route(const char *endpoint, char address[GW_ENDPOINT_TEXT_MAX],
                      char interface[GW_ENDPOINT_INTERFACE_BYTES], struct gw_error *error);

/* gw_endpoint_peer writes the numeric address, without a port, of the host at the other end of a
 * TCP socket; "" if unknown. */
void gw_endpoint_peer(int fd, char host[GW_ENDPOINT_TEXT_MAX]);

/* gw_endpoint_follow writes the path of the socket that a Unix endpoint names. The endpoint may be
 * a symbolic link. The owner of the link must also own the folder of the socket, and nobody else
 * may have write permission there; otherwise the result is GW_EPERM. Returns GW_EINVAL if a path is
 * too long. */
int gw_endpoint_follow(const char *path, char socket[GW_ENDPOINT_TEXT_MAX], struct gw_error *error);

/* gw_endpoint_connect returns a connected socket. A TCP socket may still be connecting; an error
 * then appears at the first read or write. HOST must be numeric, so the call does not block.
 * Errors, with a text: GW_ECLOSED if nobody listens there, GW_EAGAIN if the other side cannot
 * accept a connection at the moment, GW_EINVAL, GW_EIO. */
int gw_endpoint_connect(const char *endpoint, int *fd, struct gw_error *error);

/* gw_endpoint_listen opens a listening socket. For a Unix endpoint, an old socket at that path is
 * removed first, and `actual` may be NULL. For TCP, "HOST" and "HOST:0" choose a free port, and
 * `actual` receives the numeric address for clients. HOST may be a name: the look-up blocks. It
 * must not be a wildcard address, because clients cannot connect to it. Returns 0, or GW_EINVAL or
 * GW_EIO with a text. */
int gw_endpoint_listen(const char *endpoint, int *fd, char actual[GW_ENDPOINT_TEXT_MAX],
                       struct gw_error *error);

#endif
