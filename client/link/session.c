/* Sessions: connects to a scheduler, sends it this program, and asks it questions.
 *
 * A private cluster is started by the first call that needs it, not when the client is opened,
 * because only then the number of slots is known. */
#include "client/link/session.h"

#include "client/deploy/address.h"
#include "graph/base/clock.h"

#include <errno.h>
#include <gangway/version.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { OPEN_TIMEOUT_S = 10 };

/* -- Connecting ----------------------------------------------------------------------------------
 */

struct gw_message gw_session_hello(const struct gw_client *client)
{
    return (struct gw_message){
        .type = GW_MESSAGE_hello,
        .hello = {.protocol = GW_PROTOCOL_LINK,
                  .role = GW_ROLE_CLIENT,
                  .pid = (uint32_t)getpid(),
                  .version = GANGWAY_VERSION,
                  .name = client->name},
    };
}

struct gw_message gw_session_program(const struct gw_program *program)
{
    return (struct gw_message){
        .type = GW_MESSAGE_program,
        .program = {{program->hash, GW_HASH_BYTES},
                    {program->manifest.data, (uint32_t)program->manifest.size}},
    };
}

int gw_session_connect(struct gw_client *client, const struct gw_io_socket *socket, bool says_hello,
                       struct gw_error *error)
{
    struct ucred peer = {0};
    if (!socket->transport)
        (void)getsockopt(socket->fd, SOL_SOCKET, SO_PEERCRED, &peer, &(socklen_t){sizeof peer});
    struct gw_rpc call;
    gw_rpc_open(&call, client);
    call.request = GW_REQUEST_HELLO;
    int rc = gw_rpc_expect(&call, client); /* register the call before gw_io_open starts the thread
                                              that may receive the answer */
    if (rc < 0) {
        if (socket->transport)
            socket->transport->free(socket->transport);
        else
            close(socket->fd);
        gw_error_set(error, rc, "%s", gw_error_text(rc));
    } else {
        rc = gw_io_open(socket, &client->callbacks, &client->io, error);
    }
    if (rc < 0) {
        gw_rpc_close(&call, client);
        return rc;
    }
    const struct gw_message hello = gw_session_hello(client);
    if (says_hello)
        rc = gw_io_put(client->io, &hello, -1);
    if (rc == GW_ECLOSED)
        rc = gw_client_down_error(client, error);
    else if (rc < 0)
        gw_error_set(error, rc, "cannot connect: %s", gw_error_text(rc));
    else
        rc = gw_rpc_wait(&call, client, OPEN_TIMEOUT_S * GW_NS_PER_S, error);
    gw_rpc_close(&call, client);
    if (rc == 0) {
        client->started = true;
        return 0;
    }
    gw_io_close(client->io);
    client->io = NULL;
    client->down.code = 0;
    if (rc == GW_ETIMEDOUT) /* a scheduler exists, so the error is not GW_ENOSCHEDULER */
        return socket->transport
                   ? gw_error_set(error, GW_ECLOSED,
                                  "the scheduler did not answer within %ds: its host is busy, or "
                                  "its process does not run (SIGSTOP)",
                                  OPEN_TIMEOUT_S)
                   : gw_error_set(error, GW_ECLOSED,
                                  "the scheduler (process %d) did not answer within %ds: its host "
                                  "is busy, or the process does not run (SIGSTOP)",
                                  (int)peer.pid, OPEN_TIMEOUT_S);
    return rc == GW_ECLOSED
               ? gw_error_set(
                     error, GW_ENOSCHEDULER,
                     "the scheduler closed the connection before it answered: its log says why")
               : rc;
}

static int start_private(struct gw_client *client, uint32_t slots, struct gw_error *error)
{
    struct gw_cluster_options options = client->cluster_options;
    uint32_t least = options.slots ? options.slots : gw_cluster_cores();
    options.slots = least > slots ? least : slots;
    int fd, rc = gw_cluster_open(&options, &client->cluster, error);
    if (rc < 0)
        return rc;
    rc = gw_address_connect(gw_cluster_socket(client->cluster), &fd, error);
    if (rc == 0)
        rc = gw_session_connect(client, &(struct gw_io_socket){.fd = fd}, true, error);
    if (rc < 0) {
        gw_cluster_close(client->cluster);
        client->cluster = NULL;
    }
    return rc;
}

/* Asks the scheduler how many slots the cluster has. */
static int count_slots(struct gw_client *client, int64_t *slots, struct gw_error *error)
{
    struct gw_value *status;
    struct gw_rpc call;
    gw_rpc_open(&call, client);
    struct gw_message message = {
        .type = GW_MESSAGE_query,
        .query = {.request = call.request, .what = "status", .arguments = {"\xc0", 1}}, /* nil */
    };
    int rc = gw_rpc_exchange(&call, client, &message, UINT64_MAX, error);
    if (rc == 0)
        rc = gw_rpc_decode(&call, &status, error);
    gw_rpc_close(&call, client);
    if (rc < 0)
        return rc;
    rc = gw_value_get_i64(gw_value_find(status, "slots"), slots, error);
    gw_value_unref(status);
    return rc;
}

/* Starts more workers of a private cluster until it has the given number of slots. */
static int grow(struct gw_client *client, uint32_t slots, struct gw_error *error)
{
    uint64_t deadline_ns = gw_clock_now_ns() + OPEN_TIMEOUT_S * GW_NS_PER_S;
    int64_t before, now;
    uint32_t more = slots - gw_cluster_slots(client->cluster);
    int rc = count_slots(client, &before, error);
    if (rc == 0)
        rc = gw_cluster_grow(client->cluster, more, error);
    while (rc == 0 && (rc = count_slots(client, &now, error)) == 0 && now < before + more) {
        if (gw_clock_now_ns() > deadline_ns)
            return gw_error_set(error, GW_ETIMEDOUT,
                                "no worker of the private cluster started within %ds",
                                OPEN_TIMEOUT_S);
        nanosleep(&(struct timespec){.tv_nsec = 2 * GW_NS_PER_MS}, NULL);
    }
    return rc;
}

int gw_session_start(struct gw_client *client, uint32_t slots, struct gw_error *error)
{
    int rc = client->lost ? gw_client_await(client, NULL, error) : 0;
    if (rc < 0)
        return rc;
    if (client->closed)
        return gw_client_closed_error(client, error);
    if (client->started && slots <= client->slots)
        return 0;
    pthread_mutex_lock(&client->start_lock);
    rc = client->started ? 0 : start_private(client, slots, error);
    if (rc == 0 && client->cluster && slots > gw_cluster_slots(client->cluster))
        rc = grow(client, slots, error);
    if (rc == 0)
        client->slots = client->cluster ? gw_cluster_slots(client->cluster) : UINT32_MAX;
    pthread_mutex_unlock(&client->start_lock);
    return rc;
}

int gw_session_ship(struct gw_client *client, struct gw_error *error)
{
    struct gw_rpc call;
    int rc = 0;
    pthread_mutex_lock(&client->start_lock);
    if (client->program_ready)
        goto out;
    if (!client->program) {
        struct gw_program *program;
        rc = gw_program_new(&program, error);
        if (rc < 0)
            goto out;
        pthread_mutex_lock(&client->lock);
        client->program = program;
        pthread_mutex_unlock(&client->lock);
    }
    gw_rpc_open(&call, client);
    call.request = GW_REQUEST_PROGRAM;
    struct gw_message message = gw_session_program(client->program);
    rc = gw_rpc_exchange(&call, client, &message, UINT64_MAX, error);
    gw_rpc_close(&call, client);
    client->program_ready = rc == 0;
out:
    pthread_mutex_unlock(&client->start_lock);
    return rc;
}

/* -- Asking --------------------------------------------------------------------------------------
 */

int gw_session_need(struct gw_client *client, struct gw_error *error)
{
    if (client->inlined)
        return gw_error_set(error, GW_ENOTSUP,
                            "this call needs a cluster, and with GANGWAY_INLINE=1 there is none: "
                            "unset GANGWAY_INLINE");
    return gw_session_start(client, 0, error);
}

/* Starts the session if necessary, and sends one request. */
static int ask(struct gw_rpc *call, struct gw_client *client, struct gw_message *message,
               uint64_t timeout_ns, struct gw_error *error)
{
    int rc = gw_session_need(client, error);
    return rc < 0 ? rc : gw_rpc_exchange(call, client, message, timeout_ns, error);
}

int gw_session_ask(struct gw_client *client, struct gw_rpc *call, struct gw_message *message,
                   uint64_t *request, uint64_t timeout_ns, struct gw_error *error)
{
    gw_rpc_open(call, client);
    *request = call->request;
    int rc = ask(call, client, message, timeout_ns, error);
    /* A query changes nothing, so it can be sent again after a reconnect. */
    while (rc == GW_ECLOSED && message->type == GW_MESSAGE_query && client->home &&
           gw_client_await(client, NULL, NULL) == 0) {
        gw_rpc_close(call, client);
        gw_rpc_open(call, client);
        *request = call->request;
        rc = ask(call, client, message, timeout_ns, error);
    }
    return rc;
}
