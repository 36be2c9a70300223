/* The worker's ends of tunnels. Each tunnel has a libuv stream: one end of a socket pair, whose
 * other end is descriptor 3 of a companion that the supervisor starts (worker/companion), or a TCP
 * connection, or the pipe to the standard input of a command.
 *
 * Invariants: at most one window of bytes is buffered per direction. Reading stops while the client
 * gives no credit. A client that sends more than its credit is disconnected. A companion is ended
 * when its tunnel, its rank or the connection to the scheduler ends. */
#include "worker/net/tasks/tunnels.h"

#include "graph/base/clock.h"
#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "worker/net/link/send.h"
#include "worker/net/link/state.h"
#include "worker/net/tasks/companion.h"
#include "worker/net/tasks/left_folder.h"
#include "worker/net/tasks/users.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* This bit marks the numbers of processes that the core does not know. */
#define COMPANION (UINT64_C(1) << 63)

enum { REAP_GRACE_MS = 1000 };
enum { TUNNEL_STARTS, TUNNEL_STANDS, TUNNEL_CLOSING };

struct tunnel {
    struct gw_tunnels *tunnels;
    uint64_t id, attempt;
    uint32_t index, rank;
    uint64_t job, process; /* process: has the bit COMPANION; 0: none */
    uint64_t beside;       /* the rank's process; 0: not known */
    uint8_t state;
    bool left;  /* starts in the folder of a task that has ended */
    bool input; /* leads to the standard input of the rank, so nothing is read from it */
    /* input: its pipe is being closed (spent) or is closed, before the tunnel ends */
    bool spent, closed;
    struct gw_msg_tunnel_open wanted; /* the request, until the rank has a process */
    void *wanted_argv; /* owned memory of wanted.argv; NULL: does not wait for a process */
    uint64_t credit;   /* bytes that may be sent to the client */
    uint64_t pending;  /* bytes received from the client and not written yet */
    bool ended_out;    /* this side sends nothing more */
    bool ended_in;     /* the client sends nothing more */
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    };
    uv_connect_t connect;
    uv_shutdown_t shutdown;
    char data[GW_TUNNEL_DATA_BYTES];
};

struct gw_tunnels {
    struct gw_host *host;
    struct gw_map map;       /* id -> struct tunnel * that is not closing */
    struct gw_map processes; /* process -> id of the tunnel */
    struct gw_map inputs;    /* process of the core -> descriptor of its standard input */
    uint64_t next_process;
    uint32_t open; /* number of open handles */
    bool closed;
};

/* -- Messages to the scheduler -------------------------------------------------------------------
 */

static void tell(struct gw_tunnels *tunnels, const struct gw_message *message)
{
    gw_host_send_scheduler(message, tunnels->host);
}

static void tell_opened(struct gw_tunnels *tunnels, uint64_t id, const struct gw_error *error)
{
    struct gw_message message = {.type = GW_MESSAGE_tunnel_opened};
    message.tunnel_opened = (struct gw_msg_tunnel_opened){
        .request = id, .code = error->code, .text = error->code ? error->text : "", .tunnel = id};
    tell(tunnels, &message);
}

static void tell_closed(struct gw_tunnels *tunnels, uint64_t id, const struct gw_error *error)
{
    struct gw_message message = {.type = GW_MESSAGE_tunnel_close};
    message.tunnel_close =
        (struct gw_msg_tunnel_close){id, error->code, error->code ? error->text : ""};
    tell(tunnels, &message);
}

/* -- End -----------------------------------------------------------------------------------------
 */

static void tunnels_free_if_over(struct gw_tunnels *tunnels)
{
    if (!tunnels->closed || tunnels->open > 0)
        return;
    gw_map_deinit(&tunnels->map);
    gw_map_deinit(&tunnels->processes);
    gw_map_deinit(&tunnels->inputs);
    free(tunnels);
}

static void tunnel_on_closed(uv_handle_t *handle)
{
    struct tunnel *tunnel = handle->data;
    struct gw_tunnels *tunnels = tunnel->tunnels;
    tunnels->open--;
    free(tunnel->wanted_argv);
    free(tunnel);
    tunnels_free_if_over(tunnels);
}

/* Closes the worker's end of a tunnel. The client already knows of the end. */
static void end(struct tunnel *tunnel)
{
    struct gw_tunnels *tunnels = tunnel->tunnels;
    if (tunnel->state == TUNNEL_CLOSING)
        return;
    tunnel->state = TUNNEL_CLOSING;
    (void)gw_map_remove(&tunnels->map, tunnel->id);
    struct gw_host_link *supervisor =
        tunnel->process ? gw_users_supervisor(tunnels->host, tunnel->process) : NULL;
    if (supervisor) {
        struct gw_message reap = {.type = GW_MESSAGE_reap};
        reap.reap = (struct gw_msg_reap){tunnel->process, REAP_GRACE_MS * GW_NS_PER_MS, 0};
        gw_host_send(supervisor, &reap, NULL, 0);
    }
    if (!tunnel->spent)
        uv_close(&tunnel->handle, tunnel_on_closed);
    else if (tunnel->closed)
        tunnel_on_closed(&tunnel->handle);
}

static void tunnel_on_spent(uv_handle_t *handle)
{
    struct tunnel *tunnel = handle->data;
    tunnel->closed = true;
    if (tunnel->state == TUNNEL_CLOSING)
        tunnel_on_closed(handle);
}

/* Closes the standard input of the task: all input is written, or the task does not read. The
 * tunnel stays, so that its client hears when the attempt has ended. */
static void spend(struct tunnel *tunnel)
{
    if (tunnel->spent || tunnel->state == TUNNEL_CLOSING)
        return;
    tunnel->spent = true;
    uv_close(&tunnel->handle, tunnel_on_spent);
}

/* Ends a tunnel and tells the client the reason. error->code 0: no error. */
static void fail(struct tunnel *tunnel, const struct gw_error *error)
{
    if (tunnel->state == TUNNEL_CLOSING)
        return;
    struct gw_error why = *error;
    if (tunnel->state == TUNNEL_STARTS && why.code == 0)
        gw_error_set(&why, GW_ECLOSED,
                     "the task or its worker closed the connection before it was established");
    if (tunnel->state == TUNNEL_STARTS)
        tell_opened(tunnel->tunnels, tunnel->id, &why);
    else
        tell_closed(tunnel->tunnels, tunnel->id, &why);
    end(tunnel);
}

/* -- Data ----------------------------------------------------------------------------------------
 */

static void tunnel_on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct tunnel *tunnel = handle->data;
    (void)suggested;
    size_t room = sizeof tunnel->data;
    *buffer = uv_buf_init(tunnel->data, (unsigned)(tunnel->credit < room ? tunnel->credit : room));
}

static void tunnel_on_read(uv_stream_t *stream, ssize_t bytes, const uv_buf_t *buffer)
{
    struct tunnel *tunnel = stream->data;
    struct gw_message message = {.type = GW_MESSAGE_tunnel_data};
    struct gw_error error = {0};
    if (bytes == 0)
        return;
    message.tunnel_data.tunnel = tunnel->id;
    if (bytes > 0) {
        message.tunnel_data.data = (struct gw_bin){buffer->base, (uint32_t)bytes};
        tunnel->credit -= (uint64_t)bytes;
        if (tunnel->credit == 0)
            (void)uv_read_stop(stream);
        tell(tunnel->tunnels, &message);
        return;
    }
    (void)uv_read_stop(stream);
    tunnel->ended_out = true;
    if (bytes != UV_EOF)
        gw_error_set(&error, GW_ECLOSED, "the connection broke: %s", uv_strerror((int)bytes));
    if (bytes == UV_EOF)
        tell(tunnel->tunnels, &message);
    if (bytes != UV_EOF || tunnel->process || tunnel->ended_in)
        fail(tunnel, &error);
}

static void read_more(struct tunnel *tunnel)
{
    if (tunnel->state == TUNNEL_STANDS && tunnel->credit > 0 && !tunnel->ended_out &&
        !tunnel->input)
        (void)uv_read_start(&tunnel->stream, tunnel_on_room, tunnel_on_read);
}

struct writing {
    uv_write_t request;
    struct tunnel *tunnel;
    size_t bytes;
    char data[];
};

static void tunnel_on_written(uv_write_t *request, int status)
{
    struct writing *writing = (struct writing *)request;
    struct tunnel *tunnel = writing->tunnel;
    struct gw_message message = {.type = GW_MESSAGE_tunnel_credit};
    tunnel->pending -= writing->bytes;
    if (status == 0 && tunnel->state == TUNNEL_STANDS) {
        message.tunnel_credit = (struct gw_msg_tunnel_credit){tunnel->id, writing->bytes};
        tell(tunnel->tunnels, &message);
    }
    /* A broken stream is detected by reading, so that its last data is delivered first */
    free(writing);
    if (tunnel->input && (status < 0 || (tunnel->ended_in && tunnel->pending == 0)))
        spend(tunnel);
}

static void tunnel_on_shut(uv_shutdown_t *request, int status)
{
    struct tunnel *tunnel = request->handle->data;
    struct gw_error error = {0};
    (void)status;
    if (tunnel->ended_out && tunnel->state == TUNNEL_STANDS)
        fail(tunnel, &error);
}

static void take(struct tunnel *tunnel, struct gw_bin data)
{
    struct gw_error error;
    if (tunnel->spent)
        return; /* no credit is given for the dropped data */
    if (tunnel->ended_in || tunnel->pending + data.size > GW_TUNNEL_WINDOW_BYTES) {
        gw_error_set(&error, GW_EPROTO, "the client sent more data than the worker had asked for");
        fail(tunnel, &error);
    } else if (data.size == 0) {
        tunnel->ended_in = true;
        /* A pipe cannot be shut down for writing, so it is closed after all data is written */
        if (tunnel->input) {
            if (tunnel->pending == 0)
                spend(tunnel);
            return;
        }
        if (uv_shutdown(&tunnel->shutdown, &tunnel->stream, tunnel_on_shut) < 0 &&
            tunnel->ended_out)
            fail(tunnel, &(struct gw_error){0});
    } else {
        struct writing *writing = malloc(sizeof *writing + data.size);
        GW_MUST_PTR(writing);
        writing->tunnel = tunnel;
        writing->bytes = data.size;
        memcpy(writing->data, data.data, data.size);
        uv_buf_t buffer = uv_buf_init(writing->data, data.size);
        tunnel->pending += data.size;
        int rc = uv_write(&writing->request, &tunnel->stream, &buffer, 1, tunnel_on_written);
        if (rc < 0) {
            tunnel->pending -= data.size;
            free(writing);
        }
        if (rc < 0 && tunnel->input)
            spend(tunnel);
    }
}

static void stand(struct tunnel *tunnel)
{
    struct gw_error well = {0};
    tunnel->state = TUNNEL_STANDS;
    tell_opened(tunnel->tunnels, tunnel->id, &well);
    read_more(tunnel);
}

/* -- TCP ports -----------------------------------------------------------------------------------
 */

static void tunnel_on_connect(uv_connect_t *request, int status)
{
    struct tunnel *tunnel = request->handle->data;
    struct gw_error error;
    if (tunnel->state != TUNNEL_STARTS)
        return;
    if (status < 0) {
        gw_error_set(&error, GW_ECLOSED, "no program listens on that port of worker %s: %s",
                     tunnel->tunnels->host->options.name, uv_strerror(status));
        fail(tunnel, &error);
        return;
    }
    (void)uv_tcp_nodelay(&tunnel->tcp, 1);
    stand(tunnel);
}

static void open_port(struct tunnel *tunnel, uint32_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct gw_error error;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)uv_tcp_init(tunnel->tunnels->host->loop, &tunnel->tcp);
    int rc = port == 0 || port > UINT16_MAX
                 ? UV_EINVAL
                 : uv_tcp_connect(&tunnel->connect, &tunnel->tcp, (const struct sockaddr *)&address,
                                  tunnel_on_connect);
    if (rc < 0) {
        gw_error_set(&error, GW_EINVAL, "cannot connect to port %u of the task's host: %s", port,
                     uv_strerror(rc));
        fail(tunnel, &error);
    }
}

/* -- Companions ----------------------------------------------------------------------------------
 */

static int spawn(struct tunnel *tunnel, const struct gw_msg_tunnel_open *open, pid_t pid, int fd,
                 struct gw_error *error)
{
    struct gw_buffer argv = {0}, env = {0};
    struct gw_host *host = tunnel->tunnels->host;
    const uint64_t process = COMPANION | ++tunnel->tunnels->next_process;
    int rc = gw_companion_arguments(open, pid, &argv, error);
    struct gw_host_link *supervisor =
        rc < 0 ? NULL : gw_users_join(host, process, tunnel->beside, open->user);
    if (rc == 0 && !supervisor &&
        gw_users_refused(host, open->user, strlen(open->user), error) == 0)
        rc = gw_error_set(error, GW_ESTART, "the supervisor is gone");
    if (supervisor) {
        gw_companion_plain_environment(&env);
        tunnel->process = process;
        GW_MUST(gw_map_put(&tunnel->tunnels->processes, tunnel->process, tunnel->id));
        struct gw_message message = {.type = GW_MESSAGE_spawn};
        message.spawn = (struct gw_msg_spawn){
            .process = tunnel->process,
            .path = "/proc/self/exe",
            .argv = {argv.data, (uint32_t)argv.size},
            .env = {env.data, (uint32_t)env.size},
            .cwd = tunnel->left ? open->cwd : "/",
            .out = "",
            .err = "",
            .runner = 1,
        };
        gw_host_send(supervisor, &message, &fd, 1);
    }
    gw_buffer_deinit(&argv);
    gw_buffer_deinit(&env);
    return supervisor ? 0 : error->code;
}

static void open_process(struct tunnel *tunnel, const struct gw_msg_tunnel_open *open, pid_t pid)
{
    int pair[2] = {-1, -1};
    struct gw_error error = {0};
    int rc = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        rc = gw_error_set(&error, GW_EIO, "cannot start a process: %s", strerror(errno));
    if (rc == 0)
        rc = spawn(tunnel, open, pid, pair[1], &error);
    if (rc == 0 && uv_pipe_open(&tunnel->pipe, pair[0]) == 0)
        pair[0] = -1; /* owned by tunnel->pipe now */
    else if (rc == 0)
        rc = gw_error_set(
            &error, GW_EIO,
            "cannot start a process: this worker has as many files open as it may (ulimit -n)");
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
    if (rc < 0)
        fail(tunnel, &error);
}

/* -- Standard input ------------------------------------------------------------------------------
 */

void gw_tunnels_hold_input(struct gw_tunnels *tunnels, uint64_t process, int fd)
{
    GW_MUST(gw_map_put(&tunnels->inputs, process, (uint64_t)fd));
}

static void drop_input(struct gw_tunnels *tunnels, uint64_t process)
{
    uint64_t fd;
    if (!gw_map_get(&tunnels->inputs, process, &fd))
        return;
    (void)gw_map_remove(&tunnels->inputs, process);
    close((int)fd);
}

/* Connects a tunnel to the standard input of its process, which now exists. If two tunnels want it,
 * the second one gets an error. */
static void open_input(struct tunnel *tunnel, uint64_t process)
{
    struct gw_tunnels *tunnels = tunnel->tunnels;
    struct gw_error error = {0};
    uint64_t fd;
    if (!gw_map_get(&tunnels->inputs, process, &fd)) {
        gw_error_set(&error, GW_EEXIST,
                     "the standard input of task %u of job %llu is /dev/null, or another client "
                     "already writes to it",
                     tunnel->index, (unsigned long long)tunnel->job);
        fail(tunnel, &error);
        return;
    }
    (void)gw_map_remove(&tunnels->inputs, process);
    if (uv_pipe_open(&tunnel->pipe, (int)fd) < 0) {
        close((int)fd);
        gw_error_set(&error, GW_EIO, "cannot open the standard input of the task");
        fail(tunnel, &error);
        return;
    }
    stand(tunnel);
}

/* -- Start ---------------------------------------------------------------------------------------
 */

/* Stores a request whose rank was started but has no process yet. gw_tunnels_look tries it again.
 */
static void wait_for_process(struct tunnel *tunnel, const struct gw_msg_tunnel_open *open)
{
    tunnel->wanted = *open;
    tunnel->wanted.cwd = tunnel->wanted.user = "";
    tunnel->wanted_argv = malloc(open->argv.size + 1);
    GW_MUST_PTR(tunnel->wanted_argv);
    memcpy(tunnel->wanted_argv, open->argv.data, open->argv.size);
    tunnel->wanted.argv.data = tunnel->wanted_argv;
}

static void look_for_process(struct tunnel *tunnel, const struct gw_node_place *place)
{
    pid_t pid = gw_usage_pid(tunnel->tunnels->host->usage, place->process);
    void *argv = tunnel->wanted_argv;
    if (tunnel->input) {
        if (place->process && tunnel->state == TUNNEL_STARTS)
            open_input(tunnel, place->process);
        return;
    }
    if (pid <= 0 || !argv)
        return;
    tunnel->wanted_argv = NULL;
    tunnel->beside = place->process;
    open_process(tunnel, &tunnel->wanted, pid);
    free(argv);
}

bool gw_tunnels_on_supervisor(struct gw_tunnels *tunnels, const struct gw_message *message)
{
    uint64_t process = message->type == GW_MESSAGE_spawned  ? message->spawned.process
                       : message->type == GW_MESSAGE_exited ? message->exited.process
                       : message->type == GW_MESSAGE_reaped ? message->reaped.process
                                                            : 0;
    uint64_t id, value;
    struct gw_error error;
    bool cannot = message->type == GW_MESSAGE_spawned && message->spawned.code < 0;
    if (!(process & COMPANION)) {
        if (cannot || message->type == GW_MESSAGE_reaped)
            drop_input(tunnels, process);
        return false;
    }
    struct tunnel *tunnel =
        gw_map_get(&tunnels->processes, process, &id) && gw_map_get(&tunnels->map, id, &value)
            ? (struct tunnel *)(uintptr_t)value
            : NULL;
    if (tunnel && cannot) {
        gw_error_set(&error, message->spawned.code, "%s", message->spawned.text);
        tunnel->process = 0;
        fail(tunnel, &error);
    } else if (tunnel && message->type == GW_MESSAGE_spawned && tunnel->state == TUNNEL_STARTS) {
        stand(tunnel);
    }
    /* The companion's last data is still being read */
    if (cannot || message->type == GW_MESSAGE_reaped)
        (void)gw_map_remove(&tunnels->processes, process);
    return true;
}

/* -- Table of tunnels ----------------------------------------------------------------------------
 */

struct gw_tunnels *gw_tunnels_new(struct gw_host *host)
{
    struct gw_tunnels *tunnels = calloc(1, sizeof *tunnels);
    GW_MUST_PTR(tunnels);
    tunnels->host = host;
    return tunnels;
}

static void on_open(struct gw_tunnels *tunnels, const struct gw_msg_tunnel_open *asked)
{
    char folder[GW_LEFT_FOLDER_BYTES];
    struct gw_node_place place = {0};
    struct gw_error error;
    struct gw_msg_tunnel_open given = *asked;
    const struct gw_msg_tunnel_open *open = &given;
    bool left = open->left && open->kind == GW_TUNNEL_PROCESS && open->attempt == 0;
    int rc = 0;
    if (left && open->left == GW_LEFT_CHECKPOINT)
        rc = gw_left_folder_checkpoint(tunnels->host, &given, folder, &error);
    else if (left)
        rc = gw_left_folder_find(tunnels->host, &given, &error);
    if (rc < 0) {
        tell_opened(tunnels, open->request, &error);
        return;
    }
    if (!left && !gw_node_core_find(tunnels->host->core, open->attempt, open->rank, &place)) {
        gw_error_set(&error, GW_ENOENT, "task %u of job %llu has ended", open->index,
                     (unsigned long long)open->job);
        tell_opened(tunnels, open->request, &error);
        return;
    }
    struct tunnel *tunnel = calloc(1, sizeof *tunnel);
    GW_MUST_PTR(tunnel);
    tunnel->tunnels = tunnels;
    tunnel->id = open->request;
    tunnel->job = open->job;
    tunnel->index = open->index;
    tunnel->attempt = open->attempt;
    tunnel->rank = open->rank;
    tunnel->left = left;
    tunnel->input = open->kind == GW_TUNNEL_INPUT;
    tunnel->credit = GW_TUNNEL_WINDOW_BYTES;
    GW_MUST(gw_map_put(&tunnels->map, tunnel->id, (uintptr_t)tunnel));
    tunnels->open++;
    tunnel->handle.data = tunnel;
    if (open->kind == GW_TUNNEL_PORT) {
        open_port(tunnel, open->number);
        return;
    }
    (void)uv_pipe_init(tunnels->host->loop, &tunnel->pipe, 0);
    if (left) {
        open_process(tunnel, open, 0);
    } else if (tunnel->input) {
        look_for_process(tunnel, &place);
    } else {
        wait_for_process(tunnel, open);
        look_for_process(tunnel, &place);
    }
}

void gw_tunnels_on_message(struct gw_tunnels *tunnels, const struct gw_message *message)
{
    uint64_t value, id = message->type == GW_MESSAGE_tunnel_data     ? message->tunnel_data.tunnel
                         : message->type == GW_MESSAGE_tunnel_credit ? message->tunnel_credit.tunnel
                                                                     : message->tunnel_close.tunnel;
    if (message->type == GW_MESSAGE_tunnel_open) {
        on_open(tunnels, &message->tunnel_open);
        return;
    }
    if (!gw_map_get(&tunnels->map, id, &value))
        return; /* this worker has closed the tunnel meanwhile */
    struct tunnel *tunnel = (struct tunnel *)(uintptr_t)value;
    if (message->type == GW_MESSAGE_tunnel_close) {
        end(tunnel);
    } else if (message->type == GW_MESSAGE_tunnel_credit) {
        tunnel->credit += message->tunnel_credit.bytes;
        if (tunnel->credit > GW_TUNNEL_WINDOW_BYTES)
            tunnel->credit = GW_TUNNEL_WINDOW_BYTES;
        read_more(tunnel);
    } else if (tunnel->state == TUNNEL_STANDS) {
        take(tunnel, message->tunnel_data.data);
    }
}

void gw_tunnels_look(struct gw_tunnels *tunnels)
{
    uint64_t id, value;
    struct gw_node_place place;
    struct gw_error error;
    for (size_t at = 0; gw_map_next(&tunnels->map, &at, &id, &value);) {
        struct tunnel *tunnel = (struct tunnel *)(uintptr_t)value;
        size_t count = tunnels->map.count;
        if (tunnel->left)
            continue;
        if (gw_node_core_find(tunnels->host->core, tunnel->attempt, tunnel->rank, &place)) {
            look_for_process(tunnel, &place);
        } else {
            gw_error_set(&error, GW_ECANCELLED, "task %u of job %llu has ended", tunnel->index,
                         (unsigned long long)tunnel->job);
            fail(tunnel, &error);
        }
        if (tunnels->map.count != count)
            at = 0; /* the map has changed, so start again */
    }
}

void gw_tunnels_forget(struct gw_tunnels *tunnels)
{
    uint64_t id, value;
    for (size_t at = 0; gw_map_next(&tunnels->map, &at, &id, &value); at = 0)
        end((struct tunnel *)(uintptr_t)value);
}

void gw_tunnels_close(struct gw_tunnels *tunnels)
{
    size_t at = 0;
    uint64_t process, fd;
    gw_tunnels_forget(tunnels);
    while (gw_map_next(&tunnels->inputs, &at, &process, &fd))
        close((int)fd);
    tunnels->closed = true;
    tunnels_free_if_over(tunnels);
}
