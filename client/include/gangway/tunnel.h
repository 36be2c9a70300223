/* Tunnels: bytes to and from the side of a task that runs: a process in its environment and folder,
 * a TCP port of its host, or its standard input.
 *
 *     struct gw_tunnel_options options = {.job = 7, .rank = 1, .port = 8888};
 *     gw_tunnel_open(client, &options, &tunnel, &error);
 *     gw_tunnel_write(tunnel, request, sizeof request, &error);
 *     gw_tunnel_read(tunnel, answer, sizeof answer, &bytes, &error);
 *     gw_tunnel_close(tunnel);
 *
 * A tunnel ends with its task, its worker, or its client. */
#ifndef GANGWAY_TUNNEL_H
#define GANGWAY_TUNNEL_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;
struct gw_tunnel;

struct gw_tunnel_options {
    uint64_t job;
    uint32_t index;          /* of the task in the job */
    uint32_t rank;           /* of a gang */
    const char *const *argv; /* of a process, NULL at its end; {pid} and {rank} stand for the
                                rank's; NULL: a port */
    uint16_t port;           /* on the loopback interface of the rank's host */
    uint16_t rows, columns;  /* of the process's terminal; 0: it gets pipes */
    bool wait;               /* until the task runs; false: GW_EAGAIN when it does not */
    bool left;               /* of a task that has ended: a process, in its folder */
    bool input;              /* without argv: to the standard input of a command whose `input` is
                                set (graph.h), once an attempt; gw_tunnel_end ends it.
                                A read gives an error when the attempt is over */
    bool checkpoint; /* a process in the task's folder of checkpoints on that rank's host, whether
                        the task runs or has ended; GW_ENOENT: nothing is in it. GW_EEXIST: a rank
                        before this one is at the same worker; or argv is empty, which only asks
                        whether something is there */
};

/* gw_tunnel_open opens one (options are copied) and blocks until it stands, with `wait` until the
 * task runs. GW_ENOENT (no such job or task, or it has ended), GW_EAGAIN, GW_EPERM (another
 * user's), GW_EINVAL (no such rank), GW_EEXIST (`input`: it is /dev/null, or
 * another's), GW_ELIMIT, GW_ESTART, GW_ELOST, GW_ECLOSED, GW_ENOMEM. What is
 * said with a process is framed: see graph/wire/console.h. */
GW_API int gw_tunnel_open(struct gw_client *client, const struct gw_tunnel_options *options,
                          struct gw_tunnel **tunnel, struct gw_error *error);

/* gw_tunnel_read blocks until there are bytes and copies at most `room` of them; 0 bytes: nothing
 * more will come. gw_tunnel_write blocks until the other side has room for all. One thread may read
 * while another writes. GW_ECLOSED (the task has ended, the port hung up), GW_ELOST. */
GW_API int gw_tunnel_read(struct gw_tunnel *tunnel, void *data, size_t room, size_t *bytes,
                          struct gw_error *error);
GW_API int gw_tunnel_write(struct gw_tunnel *tunnel, const void *data, size_t bytes,
                           struct gw_error *error);

/* gw_tunnel_end says that nothing more will be written; reading goes on. Errors as gw_tunnel_write.
 */
GW_API int gw_tunnel_end(struct gw_tunnel *tunnel, struct gw_error *error);

/* gw_tunnel_break lets reads and writes that block return GW_ECLOSED, from any thread. */
GW_API void gw_tunnel_break(struct gw_tunnel *tunnel);

/* gw_tunnel_close closes and frees it; no other thread may be inside of one of its calls. Accepts
 * NULL. Before gw_client_close. */
GW_API void gw_tunnel_close(struct gw_tunnel *tunnel);

#ifdef __cplusplus
}
#endif

#endif
