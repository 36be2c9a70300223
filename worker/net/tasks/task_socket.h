/* The socket by which processes of commands reach the scheduler.
 *
 * A command's environment has GANGWAY_IDENTITY: where this worker listens, which attempt and rank
 * the process is of, and a secret that proves it. Whoever says hello with these gets a connection
 * as a function's client does (task_linked): to the scheduler itself, or one end of a relay, with
 * hello said for that attempt. So the worker's own key stays here, the scheduler takes the user
 * from the attempt's job, and nothing is left of it when the attempt has ended. Nothing is kept of
 * the tasks: secrets are derived from this worker's own, which ends with it. */
#ifndef GW_NET_TASK_SOCKET_H
#define GW_NET_TASK_SOCKET_H

#include "graph/wire/acceptor.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/message.h"
#include "graph/wire/step.h"
#include "graph/wire/tls.h"

struct gw_host;
struct gw_host_link;
struct gw_task_socket;

/* gw_task_socket_introduce gives the environment of a `spawn` (step.h: one with an attempt) with
 * what its processes need here, owned. The first one has the socket opened. GW_EIO: there is none.
 */
int gw_task_socket_introduce(struct gw_host *host, const struct gw_effect *effect,
                             struct gw_buffer *env);

/* gw_task_socket_answer answers the hello of a process of a task, and closes its connection. */
void gw_task_socket_answer(struct gw_host_link *link, const struct gw_msg_hello *hello);

void gw_task_socket_close(struct gw_task_socket *socket);

#endif
