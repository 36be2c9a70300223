/* `gangway forward`: makes a port of a task's host available on this host. Each connection is a
 * tunnel with two threads. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE_BYTES = 32 << 10 };

struct forward {
    struct gw_client *client;
    struct gw_selected_task task;
    uint32_t rank;
    uint16_t port, local;
    bool wait;
};

struct connection {
    const struct forward *forward;
    struct gw_tunnel *tunnel;
    int fd;
};

static bool write_all(int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t put = send(fd, data, bytes, MSG_NOSIGNAL);
        if (put < 0 && errno != EINTR)
            return false;
        if (put > 0) {
            data += put;
            bytes -= (size_t)put;
        }
    }
    return true;
}

static void *there_thread(void *arg)
{
    struct connection *connection = arg;
    char data[PIECE_BYTES];
    ssize_t got;
    int rc = 0;
    while (rc == 0 &&
           ((got = recv(connection->fd, data, sizeof data, 0)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0)
            rc = gw_tunnel_write(connection->tunnel, data, (size_t)got, NULL);
    if (rc == 0)
        (void)gw_tunnel_end(connection->tunnel, NULL);
    return NULL;
}

static void relay(struct connection *connection)
{
    char data[PIECE_BYTES];
    size_t bytes;
    pthread_t there;
    struct gw_error error = {0};
    if (pthread_create(&there, NULL, there_thread, connection) != 0)
        return;
    while (gw_tunnel_read(connection->tunnel, data, sizeof data, &bytes, &error) == 0 &&
           bytes > 0 && write_all(connection->fd, data, bytes))
        ;
    /* If the task has ended the connection properly, data may still go to the task. After an error,
     * both directions end. */
    if (error.code == 0)
        (void)shutdown(connection->fd, SHUT_WR);
    else
        (void)shutdown(connection->fd, SHUT_RDWR);
    pthread_join(there, NULL);
}

static void *connection_thread(void *arg)
{
    struct connection *connection = arg;
    const struct forward *forward = connection->forward;
    struct gw_error error;
    const struct gw_tunnel_options options =
        GW_INIT(gw_tunnel_options, .job = forward->task.job, .index = forward->task.index,
                .rank = forward->rank, .port = forward->port, .wait = forward->wait);
    if (gw_tunnel_open(forward->client, &options, &connection->tunnel, &error) < 0)
        gw_cli_error(&error);
    else
        relay(connection);
    gw_tunnel_close(connection->tunnel);
    close(connection->fd);
    free(connection);
    return NULL;
}

/* Ends this process when the job ends, because there is nothing to forward to any more. */
static void *job_thread(void *arg)
{
    const struct forward *forward = arg;
    struct gw_error error;
    int exit_code;
    int rc = gw_job_wait(forward->client, forward->task.job, UINT64_MAX, &exit_code, &error);
    if (rc == GW_ECLOSED) /* the scheduler has disappeared, so the state of the job is unknown */
        _exit(gw_cli_error(&error));
    fprintf(stderr, "gangway: job %llu has ended\n", (unsigned long long)forward->task.job);
    _exit(GW_EXIT_OK);
}

static int listen_local(struct forward *forward, int *fd, struct gw_error *error)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(forward->local)};
    socklen_t length = sizeof address;
    int on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0 || setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(*fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(*fd, 64) < 0 ||
        getsockname(*fd, (struct sockaddr *)&address, &length) < 0)
        return gw_error_set(
            error, GW_EIO,
            "cannot listen on port %u of this machine: %s; give %u:0 to use any free port",
            forward->local, strerror(errno), forward->port);
    forward->local = ntohs(address.sin_port);
    return 0;
}

/* Checks before an address is printed that the task and the rank exist and belong to this user. It
 * is no error if the task does not run yet, or if nothing listens on the port yet. */
static int look(const struct forward *forward, struct gw_error *error)
{
    struct gw_tunnel *tunnel = NULL;
    const struct gw_tunnel_options options =
        GW_INIT(gw_tunnel_options, .job = forward->task.job, .index = forward->task.index,
                .rank = forward->rank, .port = forward->port);
    int rc = gw_tunnel_open(forward->client, &options, &tunnel, error);
    if (rc == 0)
        gw_tunnel_close(tunnel);
    return rc == GW_ENOENT || rc == GW_EPERM || rc == GW_EINVAL ? rc : 0;
}

static int serve(struct forward *forward, struct gw_error *error)
{
    int fd, rc = listen_local(forward, &fd, error);
    pthread_t thread;
    if (rc == 0 && pthread_create(&thread, NULL, job_thread, forward) != 0)
        rc = gw_error_set(error, GW_EIO, "cannot start a thread");
    if (rc == 0) {
        printf("127.0.0.1:%u\n", forward->local);
        fflush(stdout);
        gw_cli_message(
            "gangway: connections to this address go to port %u of job %llu; Ctrl-C ends this",
            forward->port, (unsigned long long)forward->task.job);
    }
    while (rc == 0) {
        struct connection *connection = calloc(1, sizeof *connection);
        int taken = connection ? accept4(fd, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (taken < 0) {
            free(connection);
            if (errno != EINTR && errno != ECONNABORTED)
                rc = gw_error_set(error, GW_EIO, "cannot accept connections: %s", strerror(errno));
            continue;
        }
        *connection = (struct connection){.forward = forward, .fd = taken};
        if (pthread_create(&thread, NULL, connection_thread, connection) == 0) {
            pthread_detach(thread);
        } else {
            close(taken);
            free(connection);
        }
    }
    return rc;
}

/* Parses PORT or PORT:LOCAL. */
static int parse_ports(const char *text, struct forward *forward, struct gw_error *error)
{
    unsigned port, local;
    int end = 0;
    if (sscanf(text, "%5u%n", &port, &end) == 1 && text[end] == '\0')
        local = port;
    else if (sscanf(text, "%5u:%5u%n", &port, &local, &end) != 2 || text[end] != '\0')
        return gw_error_set(error, GW_EINVAL,
                            "%s must be PORT or PORT:LOCAL, like 8888 or 8888:9000", text);
    if (port == 0 || port > UINT16_MAX || local > UINT16_MAX)
        return gw_error_set(error, GW_EINVAL, "%s: ports are 1 to 65535", text);
    forward->port = (uint16_t)port;
    forward->local = (uint16_t)local;
    return 0;
}

int gw_cli_forward(int argc, char **argv)
{
    struct forward forward = {0};
    const struct gw_option table[] = {
        {"rank", 'r', GW_OPTION_U32, &forward.rank, "R", "use this rank of a gang (default: 0)"},
        {"wait", 0, GW_OPTION_FLAG, &forward.wait, NULL,
         "let connections wait until the task runs"},
        {0},
    };
    const struct gw_options options = {
        .command = "forward",
        .arguments = "JOB[/TASK] PORT[:LOCAL]",
        .summary =
            "Forward a local port to a port on which a task listens, for example a notebook.",
        .details =
            "Prints the address to connect to, 127.0.0.1:LOCAL (default: the same number as\n"
            "PORT; 0: any free port), and runs until the job has ended, or until Ctrl-C.",
        .table = table,
        .arguments_min = 2,
        .arguments_max = 2,
    };
    struct gw_cli_verb verb;
    struct gw_error error = {0};
    if (!gw_cli_begin(&options, argc, argv, &verb))
        return verb.exit_code;
    forward.client = verb.client;
    int rc = gw_selector_task_check(argv[verb.first], &error);
    if (rc == 0)
        rc = parse_ports(argv[verb.first + 1], &forward, &error);
    if (rc == 0)
        rc = gw_selector_task(verb.client, argv[verb.first], &forward.task, &error);
    if (rc == 0)
        rc = look(&forward, &error);
    if (rc == 0)
        rc = serve(&forward, &error);
    gw_client_close(verb.client);
    return gw_cli_error(&error);
}
