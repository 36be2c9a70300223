/* Opening and closing clients. */
#include "client/open.h"

#include "client/address.h"
#include "client/answer.h"
#include "client/bundle.h"
#include "client/inbox.h"
#include "client/inline.h"
#include "client/reconnect.h"
#include "client/session.h"
#include "graph/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLOSE_TIMEOUT_S = 10, RECONNECT_S = 60 };

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
        rc = gw_session_connect(client, &socket, true, error);
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
            rc = gw_session_connect(client, &(struct gw_io_socket){.fd = fd}, true, error);
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
    gw_inbox_open(client);
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
