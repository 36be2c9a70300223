/* Opening and closing a client, and what comes in from the scheduler.
 *
 * A private cluster is started at the first need and not when the client is opened: only then is it
 * known how many slots are asked for. */
#include "client/actor.h"

#include "client/address.h"
#include "client/answer.h"
#include "client/inline.h"
#include "client/range.h"
#include "client/reconnect.h"
#include "client/shipment.h"
#include "client/stream.h"
#include "client/tunnel.h"
#include "graph/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { OPEN_TIMEOUT_S = 10, CLOSE_TIMEOUT_S = 10, RECONNECT_S = 60 };

/* -- What comes in, on the thread that reads -----------------------------------------------------
 */

static void send_blobs(struct gw_client *client, struct gw_bin hashes)
{
    const uint8_t *hash = hashes.data;
    for (uint32_t at = 0; at + GW_HASH_BYTES <= hashes.size; at += GW_HASH_BYTES) {
        struct gw_message blob = {.type = GW_MESSAGE_blob, .blob.hash = {hash + at, GW_HASH_BYTES}};
        int fd = -1;
        if ((!client->shipment ||
             gw_shipment_give(client->shipment, hash + at, at == 0, &fd, &blob.blob.bytes) < 0) &&
            (!client->program ||
             gw_program_open(client->program, hash + at, &fd, &blob.blob.bytes) < 0))
            fd = -1; /* it was removed meanwhile: that is what this says */
        gw_io_put(client->io, &blob, fd);
    }
}

/* One failure of many targets is one message. */
static void take_failed(struct gw_client *client, const struct gw_msg_failed *message)
{
    struct gw_msg_failed one = *message;
    for (uint32_t i = 0; i <= message->more.count; i++) {
        if (i > 0)
            one.index = gw_col32_at(message->more, i - 1);
        gw_bundle_failed(client, &one);
        gw_range_failed(client, &one);
    }
}

static void client_on_message(const struct gw_message *message, const int *fds, uint8_t fd_count,
                              void *arg)
{
    struct gw_client *client = arg;
    bool answered = false;
    struct gw_bundle *over = NULL;
    gw_waiter_hold();
    pthread_mutex_lock(&client->lock);
    switch (message->type) {
    case GW_MESSAGE_done:
        gw_bundle_done(client, &message->done);
        if (client->ranges.count)
            gw_range_done(client, &message->done);
        break;
    case GW_MESSAGE_failed:
        take_failed(client, &message->failed);
        break;
    case GW_MESSAGE_opened:
        gw_stream_opened(client, &message->opened);
        break;
    case GW_MESSAGE_held:
        gw_bundle_held(client, &message->held);
        answered = gw_call_answer(client, message, fds, fd_count);
        break;
    case GW_MESSAGE_accepted:
    case GW_MESSAGE_rejected:
        answered = gw_answer_take(client, message, &over) ||
                   gw_call_answer(client, message, fds, fd_count);
        break;
    case GW_MESSAGE_tunnel_data:
    case GW_MESSAGE_tunnel_credit:
    case GW_MESSAGE_tunnel_close:
        gw_tunnel_on_message(client, message);
        break;
    case GW_MESSAGE_blob_want:
        send_blobs(client, message->blob_want.hashes);
        break;
    case GW_MESSAGE_refuse:
        gw_error_set(&client->refused, message->refuse.code < 0 ? message->refuse.code : GW_EPROTO,
                     "%s", message->refuse.text);
        break;
    case GW_MESSAGE_welcome:
        gw_io_envelope(client->io, message->term, message->peer);
        answered = gw_call_answer(client, message, fds, fd_count);
        break;
    default:
        answered = gw_call_answer(client, message, fds, fd_count);
        break;
    }
    pthread_mutex_unlock(&client->lock);
    gw_waiter_ring();
    if (over)
        gw_bundle_drop(over);
    for (uint8_t i = 0; i < fd_count && !answered; i++)
        close(fds[i]);
}

static void client_on_wake(void *arg)
{
    struct gw_client *client = arg;
    pthread_mutex_lock(&client->lock);
    gw_actors_flush(client);
    pthread_mutex_unlock(&client->lock);
}

static void client_on_close(const struct gw_error *error, void *arg)
{
    struct gw_client *client = arg;
    pthread_mutex_lock(&client->lock);
    if (client->refused.code)
        client->down = client->refused;
    else if (client->closed)
        gw_error_set(&client->down, GW_ECLOSED, "the client was closed");
    else if (error && error->code == GW_EPERM) /* before anybody said hello */
        gw_error_set(&client->down, GW_EPERM,
                     "the scheduler knows no such token (%s): it was revoked, or is another "
                     "cluster's; `gangway token create` at the scheduler makes a new one",
                     error->text);
    else if (error && error->code == GW_EPROTO)
        gw_error_set(&client->down, GW_EPROTO, "the scheduler broke the protocol: %s", error->text);
    else
        gw_error_set(&client->down, GW_ECLOSED, "the scheduler went away");
    gw_bundle_fail_all(client, !gw_reconnect_lost(client));
    pthread_cond_broadcast(&client->answered);
    gw_call_fail_all(client);
    gw_tunnel_fail_all(client);
    pthread_mutex_unlock(&client->lock);
    gw_answers_closed(client);
}

int gw_client_down_error(struct gw_client *client, struct gw_error *error)
{
    struct gw_error down;
    pthread_mutex_lock(&client->lock);
    down = client->down;
    pthread_mutex_unlock(&client->lock);
    if (client->closed)
        return gw_error_set(error, GW_ECLOSED, "the client was closed");
    if (down.code == 0)
        return gw_error_set(error, GW_ECLOSED, "the scheduler went away, and another is there now");
    return gw_error_set(error, down.code, "%s", down.text);
}

/* -- Connecting ----------------------------------------------------------------------------------
 */

int gw_client_connect(struct gw_client *client, const struct gw_io_socket *socket, bool says_hello,
                      struct gw_error *error)
{
    const struct gw_io_callbacks callbacks = {client_on_message, client_on_close, client_on_wake,
                                              client, &client->turn};
    struct ucred peer = {0};
    if (!socket->transport)
        (void)getsockopt(socket->fd, SOL_SOCKET, SO_PEERCRED, &peer, &(socklen_t){sizeof peer});
    struct gw_call call;
    gw_call_open(&call, client);
    call.request = GW_REQUEST_HELLO;
    int rc = gw_call_expect(&call, client); /* before the thread that may have its answer at once */
    if (rc < 0) {
        if (socket->transport)
            socket->transport->free(socket->transport);
        else
            close(socket->fd);
        gw_error_set(error, rc, "%s", gw_error_text(rc));
    } else {
        rc = gw_io_open(socket, &callbacks, &client->io, error);
    }
    if (rc < 0) {
        gw_call_close(&call, client);
        return rc;
    }
    struct gw_message hello = {
        .type = GW_MESSAGE_hello,
        .hello = {.protocol = GW_PROTOCOL_LINK,
                  .role = GW_ROLE_CLIENT,
                  .pid = (uint32_t)getpid(),
                  .version = GANGWAY_VERSION,
                  .name = client->name},
    };
    if (says_hello)
        rc = gw_io_put(client->io, &hello, -1);
    if (rc == GW_ECLOSED)
        rc = gw_client_down_error(client, error);
    else if (rc < 0)
        gw_error_set(error, rc, "cannot connect: %s", gw_error_text(rc));
    else
        rc = gw_call_wait(&call, client, OPEN_TIMEOUT_S * GW_NS_PER_S, error);
    gw_call_close(&call, client);
    if (rc == 0) {
        client->started = true;
        return 0;
    }
    gw_io_close(client->io);
    client->io = NULL;
    client->down.code = 0;
    if (rc == GW_ETIMEDOUT) /* there is one, so this is not GW_ENOSCHEDULER */
        return socket->transport
                   ? gw_error_set(error, GW_ECLOSED, "the scheduler did not answer within %d s",
                                  OPEN_TIMEOUT_S)
                   : gw_error_set(error, GW_ECLOSED,
                                  "the scheduler (process %d) did not answer within %d s",
                                  (int)peer.pid, OPEN_TIMEOUT_S);
    return rc == GW_ECLOSED ? gw_error_set(error, GW_ENOSCHEDULER, "the scheduler hung up") : rc;
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
        rc = gw_client_connect(client, &(struct gw_io_socket){.fd = fd}, true, error);
    if (rc < 0) {
        gw_cluster_close(client->cluster);
        client->cluster = NULL;
    }
    return rc;
}

/* The slots that the scheduler knows of. */
static int count_slots(struct gw_client *client, int64_t *slots, struct gw_error *error)
{
    struct gw_value *status;
    int rc = gw_client_query(client, "status", NULL, &status, error);
    if (rc < 0)
        return rc;
    rc = gw_value_get_i64(gw_value_find(status, "slots"), slots, error);
    gw_value_unref(status);
    return rc;
}

/* A private cluster has what is asked of it, also when that is more than at its start. */
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
            return gw_error_set(error, GW_ETIMEDOUT, "a worker did not start within %d s",
                                OPEN_TIMEOUT_S);
        nanosleep(&(struct timespec){.tv_nsec = 2 * GW_NS_PER_MS}, NULL);
    }
    return rc;
}

int gw_client_start(struct gw_client *client, uint32_t slots, struct gw_error *error)
{
    int rc = client->lost ? gw_reconnect_wait(client, NULL, error) : 0;
    if (rc < 0)
        return rc;
    if (client->closed)
        return gw_error_set(error, GW_ECLOSED, "the client was closed");
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

int gw_client_ship(struct gw_client *client, struct gw_error *error)
{
    struct gw_call call;
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
    gw_call_open(&call, client);
    call.request = GW_REQUEST_PROGRAM;
    struct gw_message message = {
        .type = GW_MESSAGE_program,
        .program = {{client->program->hash, GW_HASH_BYTES},
                    {client->program->manifest.data, (uint32_t)client->program->manifest.size}},
    };
    rc = gw_call_exchange(&call, client, &message, UINT64_MAX, error);
    gw_call_close(&call, client);
    client->program_ready = rc == 0;
out:
    pthread_mutex_unlock(&client->start_lock);
    return rc;
}

/* -- Opening -------------------------------------------------------------------------------------
 */

/* What is connected looks for its scheduler when that goes away. */
static int look_again(struct gw_client *client, const char *place, bool tcp,
                      const struct gw_client_options *options, struct gw_error *error)
{
    uint64_t for_ns = options->reconnect_ns ? options->reconnect_ns : RECONNECT_S * GW_NS_PER_S;
    int rc = options->no_reconnect ? 0 : gw_reconnect_open(client, place, tcp, for_ns);
    return rc < 0 ? gw_error_set(error, rc, "out of memory") : 0;
}

static int open_address(struct gw_client *client, const char *address,
                        const struct gw_client_options *options, struct gw_error *error)
{
    struct gw_io_socket socket = {.fd = -1};
    const char *place;
    bool tcp = false;
    int rc = gw_address_parse(address, &place, &tcp, error);
    if (rc == 0)
        rc = tcp ? gw_address_connect_tcp(place, &socket.transport, error)
                 : gw_address_connect(place, &socket.fd, error);
    if (rc == 0)
        rc = gw_client_connect(client, &socket, true, error);
    return rc < 0 ? rc : look_again(client, place, tcp, options, error);
}

/* The running cluster of this user, or a promise of a private one. */
static int open_default(struct gw_client *client, const struct gw_client_options *options,
                        struct gw_error *error)
{
    char dir[PATH_MAX], path[PATH_MAX + 32], binary[PATH_MAX];
    int fd, rc = gw_address_runtime_dir(dir, error);
    if (rc < 0)
        return rc;
    snprintf(path, sizeof path, "%s/default/%s", dir, GW_ADDRESS_SOCKET);
    if (!options->private_cluster) {
        rc = gw_address_connect(path, &fd, error);
        if (rc == 0)
            rc = gw_client_connect(client, &(struct gw_io_socket){.fd = fd}, true, error);
        else if (rc == GW_ENOSCHEDULER)
            rc = 1;
        if (rc <= 0)
            return rc < 0 ? rc : look_again(client, path, false, options, error);
        if (options->must_exist)
            return gw_error_set(error, GW_ENOSCHEDULER,
                                "no cluster is running: `gangway up` starts one");
    }
    return gw_cluster_find_binary(binary, error);
}

/* A program may have closed its standard streams. Sockets must not take their place: what it prints
 * would go to the scheduler, and libuv aborts when it is to close one. */
static void hold_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

struct gw_client *gw_client_new(const char *name)
{
    struct gw_client *client = calloc(1, sizeof *client);
    char *copy = strdup(name);
    if (!client || !copy) {
        free(client);
        free(copy);
        return NULL;
    }
    client->name = copy;
    client->refs = 1;
    pthread_mutex_init(&client->lock, NULL);
    pthread_mutex_init(&client->start_lock, NULL);
    pthread_cond_init(&client->answered, NULL);
    gw_turn_init(&client->turn);
    return client;
}

int gw_client_open(const struct gw_client_options *given, struct gw_client **out,
                   struct gw_error *error)
{
    static const struct gw_client_options defaults;
    const struct gw_client_options *options = given ? given : &defaults;
    const char *address = options->address ? options->address : getenv("GANGWAY_ADDRESS");
    const char *inlined = getenv("GANGWAY_INLINE");

    /* A runner that opened clusters would start itself again without end. */
    if (getenv("GANGWAY_RUNNER_FD"))
        return gw_error_set(error, GW_ESTART,
                            "this process was started to run tasks, but main did not begin with "
                            "gw_init(&argc, &argv)");

    int rc = gw_cluster_check_resources(options->resources, error);
    if (rc < 0)
        return rc;
    hold_standard_streams();
    struct gw_memory_lines memory;
    gw_memory_lines_init(&memory);
    memory.limit_bytes = options->memory_limit_bytes;
    rc = gw_memory_lines_check(&memory, error);
    if (rc < 0)
        return rc;
    struct gw_client *client =
        gw_client_new(options->name ? options->name : program_invocation_short_name);
    char *resources = strdup(options->resources ? options->resources : "");
    char *peers = strdup(options->peers ? options->peers : "");
    if (!client || !resources || !peers) {
        if (client)
            gw_client_unref(client);
        free(resources);
        free(peers);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    client->cluster_options.slots = options->slots;
    client->cluster_options.workers = options->workers;
    client->cluster_options.peers = peers;
    client->cluster_options.resources = resources;
    client->cluster_options.memory = memory;
    client->inlined = inlined && strcmp(inlined, "1") == 0;

    if (client->inlined)
        rc = gw_inline_open(client, error);
    else if (address && *address && !options->private_cluster)
        rc = open_address(client, address, options, error);
    else
        rc = open_default(client, options, error);
    if (rc < 0) {
        gw_client_unref(client);
        return rc;
    }
    *out = client;
    return 0;
}

/* -- Closing -------------------------------------------------------------------------------------
 */

void gw_client_unref(struct gw_client *client)
{
    pthread_mutex_lock(&client->lock);
    bool last = --client->refs == 0;
    pthread_mutex_unlock(&client->lock);
    if (!last)
        return;
    gw_inline_close(client);
    gw_map_deinit(&client->calls);
    gw_map_deinit(&client->bundles);
    gw_map_deinit(&client->ranges);
    gw_map_deinit(&client->streams);
    gw_program_free(client->program);
    gw_buffer_deinit(&client->env);
    free(client->home);
    pthread_mutex_destroy(&client->lock);
    pthread_mutex_destroy(&client->start_lock);
    pthread_cond_destroy(&client->answered);
    gw_turn_deinit(&client->turn);
    free(client->name);
    free((void *)(uintptr_t)client->cluster_options.resources);
    free((void *)(uintptr_t)client->cluster_options.peers);
    free(client);
}

/* Jobs of this session that have not ended; their number. */
static size_t unfinished_jobs(struct gw_client *client, uint64_t **jobs)
{
    size_t at = 0, count = 0;
    uint64_t request, found;
    pthread_mutex_lock(&client->lock);
    *jobs = client->down.code ? NULL : calloc(client->bundles.count + 1, sizeof **jobs);
    while (*jobs && gw_map_next(&client->bundles, &at, &request, &found)) {
        const struct gw_bundle *bundle = (const struct gw_bundle *)(uintptr_t)found;
        if (bundle->pending > 0 && !bundle->detached && bundle->job)
            (*jobs)[count++] = bundle->job;
    }
    pthread_mutex_unlock(&client->lock);
    return count;
}

static uint64_t left_ns(uint64_t deadline_ns)
{
    uint64_t now_ns = gw_clock_now_ns();
    return now_ns < deadline_ns ? deadline_ns - now_ns : 0;
}

/* Gives up all that jobs are to give, at once; those that go on for others, or of which nothing is
 * known, become 0: they are not waited for. */
static void give_up(struct gw_client *client, uint64_t *jobs, size_t count, uint64_t deadline_ns)
{
    struct gw_call *calls = count ? calloc(count, sizeof *calls) : NULL;
    size_t said = 0;
    for (bool sent = true; calls && sent && said < count; said += sent) {
        struct gw_message message = {
            .type = GW_MESSAGE_cancel,
            .cancel = {.job = jobs[said], .index = GW_INDEX_ALL, .hard = GW_CANCEL_GIVE_UP}};
        gw_call_open(&calls[said], client);
        message.cancel.request = calls[said].request;
        sent = gw_call_send(&calls[said], client, &message, -1) == 0;
        if (!sent)
            gw_call_close(&calls[said], client);
    }
    for (size_t i = 0; i < count; i++) {
        if (i >= said || gw_call_wait(&calls[i], client, left_ns(deadline_ns), NULL) < 0)
            jobs[i] = 0;
        if (i < said)
            gw_call_close(&calls[i], client);
    }
    free(calls);
}

/* On a shared cluster: cancels what nobody else wants, and waits until its last process is gone. */
static void end_jobs(struct gw_client *client)
{
    uint64_t *jobs;
    uint64_t deadline_ns = gw_clock_now_ns() + CLOSE_TIMEOUT_S * GW_NS_PER_S;
    gw_answer_wait_all(client, CLOSE_TIMEOUT_S * GW_NS_PER_S);
    size_t count = unfinished_jobs(client, &jobs);
    give_up(client, jobs, count, deadline_ns);
    for (size_t i = 0; i < count && left_ns(deadline_ns) > 0; i++) {
        int exit_code;
        if (jobs[i] &&
            gw_job_wait(client, jobs[i], left_ns(deadline_ns), &exit_code, NULL) == GW_ECLOSED)
            break;
    }
    free(jobs);
}

void gw_client_close(struct gw_client *client)
{
    if (!client || client->task) /* that one is its task's */
        return;
    if (client->started && !client->cluster)
        end_jobs(client);
    gw_client_end(client);
}

void gw_client_end(struct gw_client *client)
{
    if (client->task)
        client->task = NULL; /* futures may live on for a moment, and it does not */
    pthread_mutex_lock(&client->lock);
    client->closed = true;
    pthread_mutex_unlock(&client->lock);
    gw_reconnect_stop(client);
    gw_io_close(client->io); /* its end fails whatever still waits */

    pthread_mutex_lock(&client->lock);
    client->io = NULL;
    if (!client->down.code)
        gw_error_set(&client->down, GW_ECLOSED, "the client was closed");
    pthread_mutex_unlock(&client->lock);
    gw_reconnect_close(client);
    gw_cluster_close(client->cluster);
    client->cluster = NULL;
    gw_inline_close(client);
    gw_client_unref(client);
}
