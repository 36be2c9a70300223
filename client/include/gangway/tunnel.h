/* Tunnels: a tunnel carries bytes to and from a new process beside a running task (in the task's
 * environment and folder), a TCP port of the task's host, or the task's standard input.
 *
 *     gw_tunnel_open(client, GW_TUNNEL_OPTIONS(.job = 7, .rank = 1, .port = 8888), &tunnel,
 *                    &error);
 *     gw_tunnel_write(tunnel, request, sizeof request, &error);
 *     gw_tunnel_read(tunnel, answer, sizeof answer, &bytes, &error);
 *     gw_tunnel_close(tunnel);
 *
 * A tunnel ends if its task, its worker or its client ends. */
#ifndef GANGWAY_TUNNEL_H
#define GANGWAY_TUNNEL_H

#include <gangway/error.h>
#include <gangway/options.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;
struct gw_tunnel;

struct gw_tunnel_options {
    size_t struct_size; /* see options.h */
    uint64_t job;
    uint32_t index;          /* index of the task in the job */
    uint32_t rank;           /* rank of a gang; 0 for an ordinary task */
    const char *const *argv; /* words of the command to start, ended by NULL; {pid} and {rank} in
                                them are replaced by the process id and the number of the rank;
                                NULL: connect to `port` instead */
    uint16_t port;           /* a port on the loopback interface of the rank's host */
    uint16_t rows, columns;  /* rows and columns of the terminal that the new process gets; 0: the
                                process gets  pipes instead of a terminal */
    bool wait;  /* true: wait until the task runs; false: fail with GW_EAGAIN if it does not run */
    bool left;  /* true: the task has ended; start the process in the working folder that remains
                   of the task */
    bool input; /* true: what is written to the tunnel becomes the standard input of the task, a
                   command with the option `input` (graph.h). argv is not used. Each attempt
                   accepts one such tunnel. gw_tunnel_end ends the input. A read fails when the
                   attempt has ended */
    bool checkpoint; /* true: start the process in the task's checkpoint folder on the host of
                        `rank`; the task may have ended. If argv is empty, gw_tunnel_open only asks
                        whether the folder has files. GW_ENOENT: the folder is empty. GW_EEXIST: an
                        earlier rank uses the same worker, and so the same folder; or argv is empty
                        and the folder has files */
};
#define GW_TUNNEL_OPTIONS(...) GW_POINTER(gw_tunnel_options, __VA_ARGS__)

/* gw_tunnel_open opens a tunnel (options are copied). It blocks until the tunnel is open, with
 * `wait` until the task runs. GW_ENOENT: no such job or task, or the task has ended. GW_EAGAIN: the
 * task does not run yet. GW_EPERM: another user's job. GW_EINVAL: no such rank. GW_EEXIST: the
 * task's standard input is /dev/null, or another tunnel uses it. Other errors: GW_ELIMIT,
 * GW_ESTART, GW_ELOST, GW_ECLOSED, GW_ENOMEM. The bytes of a process are framed: see
 * graph/wire/console.h. */
GW_API int gw_tunnel_open(struct gw_client *client, const struct gw_tunnel_options *options,
                          struct gw_tunnel **tunnel, struct gw_error *error);

/* gw_tunnel_read blocks until bytes have arrived and copies at most `room` of them. If it returns 0
 * bytes, the other side has ended its output. gw_tunnel_write blocks until the other side has room
 * for all bytes. One thread may read while another writes. GW_ECLOSED: the task has ended, or the
 * port was closed. GW_ELOST: the task's worker was lost. */
GW_API int gw_tunnel_read(struct gw_tunnel *tunnel, void *data, size_t room, size_t *bytes,
                          struct gw_error *error);
GW_API int gw_tunnel_write(struct gw_tunnel *tunnel, const void *data, size_t bytes,
                           struct gw_error *error);

/* gw_tunnel_end ends the direction from the caller to the task, so that the other side reads an end
 * of file. Reading goes on. Errors: as gw_tunnel_write. */
GW_API int gw_tunnel_end(struct gw_tunnel *tunnel, struct gw_error *error);

/* gw_tunnel_break makes blocked reads and writes return GW_ECLOSED. Any thread may call it. */
GW_API void gw_tunnel_break(struct gw_tunnel *tunnel);

/* gw_tunnel_close closes and frees the tunnel (NULL is accepted). No other thread may be in a call
 * on this tunnel. Call it before gw_client_close. */
GW_API void gw_tunnel_close(struct gw_tunnel *tunnel);

#ifdef __cplusplus
}
#endif

#endif
