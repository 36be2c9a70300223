/* The socket at which processes of commands connect to the cluster.
 *
 * A command's environment has GANGWAY_IDENTITY: the address of this socket, the attempt and rank of
 * the process, and a secret that proves them. A process that sends hello with these values gets a
 * connection like the client of a function (task_linked). It is a connection to the scheduler
 * itself, or one end of a relay, on which hello was sent for that attempt. So the worker's key is
 * never given away, the scheduler takes the user from the attempt's job, and the permission ends
 * with the attempt. The worker stores nothing per task: each secret is derived from a secret of the
 * worker, which ends with the worker. */
#ifndef GW_NET_TASK_SOCKET_H
#define GW_NET_TASK_SOCKET_H

#include "graph/wire/acceptor.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/message.h"
#include "graph/wire/step.h"
#include "graph/wire/tls.h"

#include <limits.h>

struct gw_host;
struct gw_host_link;
struct gw_task_socket;

/* gw_task_socket_introduce writes "GANGWAY_IDENTITY=..." for the command that a `spawn` starts. The
 * line contains a secret. The effect names the attempt (step.h). The first call opens the socket.
 * Returns GW_EIO if there is no socket. */
int gw_task_socket_introduce(struct gw_host *host, const struct gw_effect *effect,
                             char line[PATH_MAX]);

/* gw_task_socket_place chooses the path of a socket with this file name: in the worker's folder, in
 * a folder with a shorter path, or, with separate users, in one that they can enter. Returns
 * GW_EINVAL with a text if no path is short enough. */
int gw_task_socket_place(const struct gw_host *host, const char *name,
                         char path[GW_ENDPOINT_TEXT_MAX], struct gw_error *error);

/* gw_task_socket_listen makes a socket there that only the worker's user, or separate users, can
 * connect to: the latter must be checked by gw_users_may_connect. Returns GW_EIO with a text. */
int gw_task_socket_listen(const struct gw_host *host, const char *path, int *fd,
                          struct gw_error *error);

/* gw_task_socket_answer answers the hello of a task's process and closes its connection. */
void gw_task_socket_answer(struct gw_host_link *link, const struct gw_msg_hello *hello);

void gw_task_socket_close(struct gw_task_socket *socket);

#endif
