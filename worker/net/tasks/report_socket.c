/* Reports of commands: a pool of listening sockets, and their connections.
 *
 * Invariants: a socket belongs to at most one process, and has connections only while it does. A
 * connection whose peer does not read its answers is not read, so it holds at most one answer. */
#include "worker/net/tasks/report_socket.h"

#include "graph/base/clock.h"
#include "graph/base/log.h"
#include "graph/base/must.h"
#include "graph/wire/acceptor.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/enums.h"
#include "worker/net/link/state.h"
#include "worker/net/link/step.h"
#include "worker/net/parts/report_line.h"
#include "worker/net/tasks/task_socket.h"
#include "worker/net/tasks/users.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 16, ANSWER_BYTES = 1024 };

struct connection {
    uv_poll_t poll;
    struct gw_report_socket *socket;
    struct connection *next;
    int fd;
    bool closed, skips; /* skips: the rest of a line that is too long is dropped */
    size_t in_bytes, out_bytes;
    char in[GW_REPORT_LINE_BYTES + 1]; /* with its newline */
    char out[ANSWER_BYTES];            /* the part of an answer that was not sent */
};

struct gw_report_socket {
    struct gw_host *host;
    struct gw_acceptor *acceptor;
    struct gw_report_socket *next; /* the next unused one */
    struct connection *connections;
    uint64_t process; /* 0: unused */
    uint64_t reports; /* number of reports of the process */
    int fd;           /* the acceptor's */
    char path[GW_ENDPOINT_TEXT_MAX];
};

/* -- Reports ----------------------------------------------------------------------------------- */

static void answer(struct connection *connection, const char *key, const char *text)
{
    json_t *json = json_pack("{s:s}", key, text);
    GW_MUST_PTR(json);
    size_t bytes = json_dumpb(json, connection->out, ANSWER_BYTES - 1, JSON_COMPACT);
    json_decref(json);
    if (bytes >= ANSWER_BYTES) /* cannot happen: an error has fewer bytes */
        bytes = 0;
    connection->out[bytes] = '\n';
    connection->out_bytes = bytes + 1;
}

/* Passes a report on to the core, one message for each metric, and answers it. */
static void on_line(struct connection *connection, const char *line, size_t bytes)
{
    struct gw_report_socket *socket = connection->socket;
    struct gw_host *host = socket->host;
    const uint64_t process = socket->process;
    struct gw_report_line report;
    struct gw_error error;
    if (gw_report_line_parse(line, bytes, &report, &error) < 0) {
        answer(connection, "error", error.text);
        return;
    }
    socket->reports++;
    const int64_t step = report.has_step ? report.step : (int64_t)socket->reports;
    const char *dropped = NULL;
    for (uint32_t i = 0; i < report.count || i == 0; i++) {
        if (report.count && !gw_node_core_keeps_metric(host->core, process, report.metrics[i].name))
            dropped = report.metrics[i].name;
        struct gw_message message = {.type = GW_MESSAGE_metric};
        message.metric = (struct gw_msg_metric){
            .step = step,
            .name = report.count ? report.metrics[i].name : "",
            .value = report.count ? report.metrics[i].value : 0,
            .wall_ns = gw_clock_wall_ns(),
        };
        (void)gw_host_step(
            host,
            &(struct gw_event){.type = GW_EVENT_REPORTED, .number = process, .message = &message});
    }
    if (dropped) {
        (void)gw_error_set(&error, GW_ELIMIT,
                           "a task may have at most %d metrics: \"%s\" is not kept",
                           GW_METRIC_NAMES_MAX, dropped);
        answer(connection, "error", error.text);
        return;
    }
    const uint32_t command = gw_node_core_answer(host->core, process, step);
    answer(connection, "answer",
           command == GW_CONTROL_STOP    ? "stop"
           : command == GW_CONTROL_PAUSE ? "pause"
                                         : "continue");
}

/* -- Connections --------------------------------------------------------------------------------
 */

static void connection_on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void connection_close(struct connection *connection)
{
    struct connection **at = &connection->socket->connections;
    if (connection->closed)
        return;
    connection->closed = true;
    while (*at != connection)
        at = &(*at)->next;
    *at = connection->next;
    (void)uv_poll_stop(&connection->poll);
    (void)close(connection->fd);
    uv_close((uv_handle_t *)&connection->poll, connection_on_closed);
}

/* Sends the rest of an answer. Returns true if all of it is sent. A peer that is gone needs none:
 * reports that it has sent before are read nevertheless. */
static bool flush(struct connection *connection)
{
    while (connection->out_bytes) {
        ssize_t sent = send(connection->fd, connection->out, connection->out_bytes,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return false;
        if (sent < 0)
            sent = (ssize_t)connection->out_bytes;
        connection->out_bytes -= (size_t)sent;
        memmove(connection->out, connection->out + sent, connection->out_bytes);
    }
    return true;
}

/* Handles the complete lines that were read, until an answer cannot be sent. */
static void handle_lines(struct connection *connection)
{
    char *newline;
    while (!connection->closed && flush(connection) &&
           (newline = memchr(connection->in, '\n', connection->in_bytes))) {
        const size_t bytes = (size_t)(newline - connection->in);
        if (!connection->skips)
            on_line(connection, connection->in, bytes);
        connection->skips = false;
        connection->in_bytes -= bytes + 1;
        memmove(connection->in, newline + 1, connection->in_bytes);
    }
    if (connection->closed || connection->in_bytes < sizeof connection->in || connection->out_bytes)
        return;
    if (!connection->skips)
        answer(connection, "error", "a report may have at most 4096 bytes: report fewer metrics");
    connection->skips = true;
    connection->in_bytes = 0;
    (void)flush(connection);
}

/* Reads once. Returns true if there may be more. A last line needs no newline. */
static bool connection_read(struct connection *connection)
{
    const size_t room = sizeof connection->in - connection->in_bytes;
    ssize_t got = recv(connection->fd, connection->in + connection->in_bytes, room, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return errno == EINTR;
    if (got > 0)
        connection->in_bytes += (size_t)got;
    handle_lines(connection);
    if (got > 0 || connection->closed)
        return !connection->closed && !connection->out_bytes;
    if (connection->in_bytes && !connection->skips && !connection->out_bytes)
        on_line(connection, connection->in, connection->in_bytes);
    if (!connection->closed)
        (void)flush(connection);
    connection_close(connection);
    return false;
}

static void connection_on_poll(uv_poll_t *poll, int status, int events)
{
    struct connection *connection = poll->data;
    if (connection->closed)
        return;
    if (connection->out_bytes)
        handle_lines(connection);
    else if (status < 0 || (events & UV_READABLE))
        (void)connection_read(connection);
    if (!connection->closed)
        (void)uv_poll_start(poll, connection->out_bytes ? UV_WRITABLE : UV_READABLE,
                            connection_on_poll);
}

static void report_socket_on_accept(int fd, void *arg)
{
    struct gw_report_socket *socket = arg;
    static const char refusal[] = "{\"error\":\"this task has 16 connections for reports, which is "
                                  "the most: use one for all reports, or close some\"}\n";
    uint32_t count = 0;
    for (const struct connection *at = socket->connections; at; at = at->next)
        count++;
    struct connection *connection = NULL;
    if (count >= CONNECTIONS_MAX)
        (void)send(fd, refusal, sizeof refusal - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    else if (socket->process && gw_users_may_connect(socket->host, fd, socket->process))
        connection = calloc(1, sizeof *connection);
    if (!connection || uv_poll_init(socket->host->loop, &connection->poll, fd) < 0) {
        free(connection);
        (void)close(fd);
        return;
    }
    connection->poll.data = connection;
    connection->socket = socket;
    connection->fd = fd;
    connection->next = socket->connections;
    socket->connections = connection;
    (void)uv_poll_start(&connection->poll, UV_READABLE, connection_on_poll);
}

/* -- The pool ------------------------------------------------------------------------------------
 */

static struct gw_report_socket *socket_new(struct gw_host *host)
{
    struct gw_report_socket *made = calloc(1, sizeof *made);
    const struct gw_acceptor_callbacks callbacks = {.on_accept = report_socket_on_accept,
                                                    .arg = made};
    char name[64];
    struct gw_error error;
    GW_MUST_PTR(made);
    made->host = host;
    (void)snprintf(name, sizeof name, "report-%d-%zu.sock", (int)getpid(),
                   host->report_sockets.all.count);
    int rc = gw_task_socket_place(host, name, made->path, &error);
    if (rc == 0)
        rc = gw_task_socket_listen(host, made->path, &made->fd, &error);
    if (rc == 0)
        rc = gw_acceptor_open(host->loop, made->fd, &callbacks, &made->acceptor, &error);
    if (rc < 0) {
        if (!host->report_sockets.refused)
            gw_log_warn("commands cannot report metrics: %s", error.text);
        host->report_sockets.refused = true;
        free(made);
        return NULL;
    }
    GW_MUST(gw_array_push(&host->report_sockets.all, made));
    return made;
}

const char *gw_report_sockets_take(struct gw_host *host, uint64_t process)
{
    struct gw_report_sockets *sockets = &host->report_sockets;
    struct gw_report_socket *socket = sockets->unused;
    gw_report_sockets_give_back(host, process); /* a process that is started once more */
    if (socket)
        sockets->unused = socket->next;
    else
        socket = socket_new(host);
    if (!socket)
        return NULL;
    socket->process = process;
    socket->reports = 0;
    GW_MUST(gw_map_put(&sockets->taken, process, (uintptr_t)socket));
    return socket->path;
}

/* Handles what processes that have ended have sent. */
static void drain(struct gw_report_socket *socket)
{
    struct pollfd waits = {.fd = socket->fd, .events = POLLIN}; /* accept4 alone costs more */
    int fd;
    while (poll(&waits, 1, 0) > 0 &&
           (fd = accept4(socket->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        report_socket_on_accept(fd, socket);
    for (struct connection *at = socket->connections, *next; at; at = next) {
        next = at->next;
        while (connection_read(at))
            ;
    }
}

void gw_report_sockets_give_back(struct gw_host *host, uint64_t process)
{
    struct gw_report_sockets *sockets = &host->report_sockets;
    uint64_t value;
    if (!gw_map_get(&sockets->taken, process, &value))
        return;
    struct gw_report_socket *socket = (struct gw_report_socket *)(uintptr_t)value;
    if (!host->stepping && !host->exiting) /* else the process has not started */
        drain(socket);
    while (socket->connections)
        connection_close(socket->connections);
    (void)gw_map_remove(&sockets->taken, process);
    socket->process = 0;
    socket->next = sockets->unused;
    sockets->unused = socket;
}

void gw_report_sockets_close(struct gw_host *host)
{
    struct gw_report_socket **at;
    GW_ARRAY_EACH (&host->report_sockets.all, at) {
        while ((*at)->connections)
            connection_close((*at)->connections);
        gw_acceptor_close((*at)->acceptor);
        (void)unlink((*at)->path);
    }
}

void gw_report_sockets_free(struct gw_host *host)
{
    struct gw_report_socket **at;
    GW_ARRAY_EACH (&host->report_sockets.all, at)
        free(*at);
    gw_array_deinit(&host->report_sockets.all);
    gw_map_deinit(&host->report_sockets.taken);
}
