/* Endpoints: where a daemon is reached. "/path" is a unix socket, "HOST:PORT" and "[V6]:PORT" are
 * TCP. Sockets are non-blocking and close on exec. */
#ifndef GW_WIRE_ENDPOINT_H
#define GW_WIRE_ENDPOINT_H

#include <gangway/error.h>
#include <stdbool.h>

enum { GW_ENDPOINT_INTERFACE_BYTES = 16 };
enum { GW_ENDPOINT_TEXT_MAX = 128 }; /* with the final 0; unix paths may be as long as a socket's */

/* gw_endpoint_is_tcp tells the kinds apart. */
bool gw_endpoint_is_tcp(const char *endpoint);

/* gw_endpoint_check refuses (GW_EINVAL with a text) what is no "HOST:PORT" with a port other than
 * 0; HOST is not looked up. */
int gw_endpoint_check(const char *endpoint, struct gw_error *error);

/* gw_endpoint_resolve gives the numeric form of "HOST:PORT", whose HOST may be a name: blocks. A
 * port must be there. GW_EINVAL with a text. */
int gw_endpoint_resolve(const char *endpoint, char numeric[GW_ENDPOINT_TEXT_MAX],
                        struct gw_error *error);

/* gw_endpoint_host gives HOST of "HOST:PORT", without the brackets of "[V6]:PORT". */
void gw_endpoint_host(const char *endpoint, char host[GW_ENDPOINT_TEXT_MAX]);

/* gw_endpoint_route gives the address (without a port) by which this host sends to a numeric
 * "HOST:PORT" or "HOST", and the name of its interface ("" where it cannot be told). Nothing is
 * sent. 0; GW_EIO with a text where there is no route. */
int gw_endpoint_route(const char *endpoint, char address[GW_ENDPOINT_TEXT_MAX],
                      char interface[GW_ENDPOINT_INTERFACE_BYTES], struct gw_error *error);

/* gw_endpoint_peer gives the numeric address, without a port, of the host at the other side of a
 * TCP socket; "" where that cannot be told. */
void gw_endpoint_peer(int fd, char host[GW_ENDPOINT_TEXT_MAX]);

/* gw_endpoint_follow gives the socket's own path for a unix endpoint, which may be a link to it.
 * The link's owner must own the socket's folder, and nobody else may write there: GW_EPERM.
 * GW_EINVAL: too long a path. */
int gw_endpoint_follow(const char *path, char socket[GW_ENDPOINT_TEXT_MAX], struct gw_error *error);

/* gw_endpoint_connect gives a socket that is connected, or (TCP) being connected: a failure shows
 * at the first read or write then. HOST must be numeric: nothing blocks. GW_ECLOSED where nobody
 * listens there (any more), GW_EAGAIN where the other side has no room at the moment, GW_EINVAL,
 * GW_EIO: with a text. */
int gw_endpoint_connect(const char *endpoint, int *fd, struct gw_error *error);

/* gw_endpoint_listen listens; an old unix socket of that path is removed first. TCP: "HOST" or
 * "HOST:0" takes a free port, and `actual` is what to tell others, numeric; HOST may be a name,
 * whose look-up blocks, but no wildcard, which nobody can connect to. Unix: `actual` may be NULL.
 * 0, GW_EINVAL or GW_EIO with a text. */
int gw_endpoint_listen(const char *endpoint, int *fd, char actual[GW_ENDPOINT_TEXT_MAX],
                       struct gw_error *error);

#endif
