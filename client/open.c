/* Opening and closing clients. */
#include "client/open.h"

#include "client/deploy/address.h"
#include "client/deploy/identity.h"
#include "client/fork.h"
#include "client/incoming.h"
#include "client/link/descriptor.h"
#include "client/link/session.h"
#include "client/results/deferred_accept.h"
#include "client/results/future_group.h"
#include "client/services/printer.h"
#include "client/submit/inline.h"
#include "client/submit/reconnect.h"
#include "client/submit/stream.h"
#include "graph/base/clock.h"
#include "graph/base/options_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLOSE_TIMEOUT_S = 10, PRINT_TIMEOUT_S = 60, RECONNECT_S = 60, CONNECT_TIMEOUT_S = 10 };
enum { PAUSE_US_MIN = 10000, PAUSE_US_MAX = 200000 };

/* -- Opening -------------------------------------------------------------------------------------
 */

/* Prepares a connected client to reconnect, unless the options forbid it. */
static int look_again(struct gw_client *client, const char *place, bool tcp,
                      const struct gw_client_options *options, struct gw_error *error)
{
    uint64_t for_ns = options->reconnect_ns ? options->reconnect_ns : RECONNECT_S * GW_NS_PER_S;
    int rc = options->no_reconnect ? 0 : gw_reconnect_open(client, place, tcp, for_ns);
    return rc < 0 ? gw_error_set(error, rc, "out of memory") : 0;
}

/* How a scheduler is reached. */
struct way {
    const char *place;
    bool tcp;
    const struct gw_identity *identity; /* connect as this task, by its worker; or NULL */
};

static int connect_once(struct gw_client *client, const struct way *way, struct gw_error *error)
{
    struct gw_io_socket socket = {.fd = -1};
    int rc = way->identity ? gw_identity_connect(way->identity, &socket.fd, error)
             : way->tcp    ? gw_address_connect_tcp(way->place, &socket.transport, error)
                           : gw_address_connect(way->place, &socket.fd, error);
    return rc < 0 ? rc : gw_session_connect(client, &socket, !way->identity, error);
}

/* Whether a scheduler may start again at this place. The socket, or the link to it, is removed when
 * its cluster is taken down, and not when its scheduler is killed. */
static bool may_come_back(const struct way *way, const struct gw_client_options *options)
{
    struct stat info;
    return way->tcp ? options->connect_timeout_ns > 0 : lstat(way->place, &info) == 0;
}

/* Connects, and tries again while a scheduler may start. GW_ENOSCHEDULER: no scheduler answered;
 * *waited is true if one could have started again. */
static int connect_patiently(struct gw_client *client, const struct way *way,
                             const struct gw_client_options *options, bool *waited,
                             struct gw_error *error)
{
    const uint64_t timeout_ns =
        options->connect_timeout_ns ? options->connect_timeout_ns : CONNECT_TIMEOUT_S * GW_NS_PER_S;
    const uint64_t deadline_ns = gw_clock_deadline_ns(timeout_ns);
    useconds_t pause_us = PAUSE_US_MIN;
    int rc = connect_once(client, way, error);
    while (rc == GW_ENOSCHEDULER && (*waited = may_come_back(way, options)) &&
           gw_clock_now_ns() < deadline_ns) {
        (void)usleep(pause_us);
        pause_us = pause_us * 2 < PAUSE_US_MAX ? pause_us * 2 : PAUSE_US_MAX;
        rc = connect_once(client, way, error);
    }
    return rc;
}

static int open_address(struct gw_client *client, const char *address,
                        const struct gw_client_options *options, struct gw_error *error)
{
    struct way way = {0};
    bool waited;
    int rc = gw_address_parse(address, &way.place, &way.tcp, error);
    if (rc == 0)
        rc = connect_patiently(client, &way, options, &waited, error);
    return rc < 0 ? rc : look_again(client, way.place, way.tcp, options, error);
}

/* Connects with the identity of the command in which this process runs. Such a client does not
 * reconnect, like the clients inside functions. */
static int open_inside(struct gw_client *client, const struct gw_identity *identity,
                       const struct gw_client_options *options, struct gw_error *error)
{
    bool waited;
    return connect_patiently(client, &(struct way){identity->path, false, identity}, options,
                             &waited, error);
}

/* Connects to the running cluster of this user, else to the one of the configuration. If there is
 * none, only checks that a private cluster can be started later. */
static int open_default(struct gw_client *client, const struct gw_client_options *options,
                        struct gw_error *error)
{
    char path[PATH_MAX], binary[PATH_MAX], address[GW_ADDRESS_TCP_MAX];
    bool waited = false;
    if (!options->private_cluster) {
        int rc = gw_address_default_socket(path, error);
        rc = rc < 0
                 ? GW_ENOSCHEDULER
                 : connect_patiently(client, &(struct way){.place = path}, options, &waited, error);
        if (rc != GW_ENOSCHEDULER)
            return rc < 0 ? rc : look_again(client, path, false, options, error);
        rc = waited ? GW_ENOENT : gw_address_read_default(address, error);
        if (rc != GW_ENOENT)
            return rc < 0 ? rc : open_address(client, address, options, error);
        if (options->must_exist && waited)
            return gw_error_set(error, GW_ENOSCHEDULER,
                                "no scheduler answers at %s, because it was killed or stopped: "
                                "`gangway up` starts it again, `gangway down` ends the cluster",
                                path);
        if (options->must_exist)
            return gw_error_set(error, GW_ENOSCHEDULER,
                                "no cluster is running: `gangway up` starts one");
    }
    return gw_cluster_find_binary(binary, error);
}

/* Opens /dev/null for closed standard streams. A program may have closed them, and sockets must not
 * get descriptors 0 to 2: the program's output would go to the scheduler, and libuv aborts when it
 * closes one of these descriptors. */
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
    struct gw_client_options read;
    const struct gw_client_options *options = &read;
    int rc = GW_OPTIONS_READ(&read, given, gw_client_options, error);
    if (rc < 0)
        return rc;
    const char *address = options->address ? options->address : getenv("GANGWAY_ADDRESS");
    const char *inlined = getenv("GANGWAY_INLINE");
    struct gw_identity identity;

    /* A runner whose main opens a cluster before gw_init would start runners without end. */
    if (getenv("GANGWAY_RUNNER_FD"))
        return gw_error_set(error, GW_ESTART,
                            "this process was started to run tasks, but main did not begin with "
                            "gw_init(&argc, &argv)");

    rc = gw_cluster_check_resources(options->resources, error);
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
    gw_incoming_open(client);
    client->cluster_options.slots = options->slots;
    client->cluster_options.workers = options->workers;
    client->cluster_options.peers = peers;
    client->cluster_options.resources = resources;
    client->cluster_options.memory = memory;
    client->show_output = options->show_output;
    client->at_terminal = isatty(STDOUT_FILENO);
    client->inlined = inlined && strcmp(inlined, "1") == 0;

    if (client->inlined)
        rc = gw_inline_open(client, error);
    else if (!options->address && !options->private_cluster && gw_identity_find(&identity))
        rc = open_inside(client, &identity, options, error);
    else if (address && *address && !options->private_cluster)
        rc = open_address(client, address, options, error);
    else
        rc = open_default(client, options, error);
    if (rc < 0) {
        gw_client_unref(client);
        return rc;
    }
    if (!client->inlined)
        gw_fork_watch(client);
    *out = client;
    return 0;
}

/* -- Closing -------------------------------------------------------------------------------------
 */

/* Lists the jobs of this client that have not ended, and returns their number. */
static size_t unfinished_jobs(struct gw_client *client, uint64_t **jobs)
{
    size_t at = 0, count = 0;
    uint64_t request, found;
    pthread_mutex_lock(&client->lock);
    *jobs = client->down.code ? NULL : calloc(client->groups.count + 1, sizeof **jobs);
    while (*jobs && gw_map_next(&client->groups, &at, &request, &found)) {
        const struct gw_future_group *group = (const struct gw_future_group *)(uintptr_t)found;
        if (group->pending > 0 && !group->detached && group->job)
            (*jobs)[count++] = group->job;
    }
    pthread_mutex_unlock(&client->lock);
    return count;
}

/* Sends a cancel or an actor release for each job, all at once, and waits for the answers. A job
 * becomes 0 if it goes on for other clients or the scheduler does not know it: end_jobs does not
 * wait for such a job. */
static void ask_each(struct gw_client *client, uint32_t type, uint64_t *jobs, size_t count,
                     uint64_t deadline_ns)
{
    struct gw_rpc *calls = count ? calloc(count, sizeof *calls) : NULL;
    size_t said = 0;
    for (bool sent = true; calls && sent && said < count; said += sent) {
        struct gw_message message = {.type = type};
        gw_rpc_open(&calls[said], client);
        if (type == GW_MESSAGE_cancel)
            message.cancel = (struct gw_msg_cancel){.request = calls[said].request,
                                                    .job = jobs[said],
                                                    .index = GW_INDEX_ALL,
                                                    .hard = GW_CANCEL_GIVE_UP};
        else
            message.actor_release =
                (struct gw_msg_actor_release){.actor = jobs[said], .request = calls[said].request};
        sent = gw_rpc_send(&calls[said], client, &message, -1) == 0;
        if (!sent)
            gw_rpc_close(&calls[said], client);
    }
    for (size_t i = 0; i < count; i++) {
        if (i >= said || gw_rpc_wait(&calls[i], client, gw_clock_left_ns(deadline_ns), NULL) < 0)
            jobs[i] = 0;
        if (i < said)
            gw_rpc_close(&calls[i], client);
    }
    free(calls);
}

/* Lists the named actors of which this client had handles. The caller frees *actors. */
static size_t named_actors(struct gw_client *client, uint64_t **actors)
{
    size_t at = 0, count = 0;
    uint64_t job, one;
    pthread_mutex_lock(&client->lock);
    *actors = client->down.code ? NULL : calloc(client->named.count + 1, sizeof **actors);
    while (*actors && gw_map_next(&client->named, &at, &job, &one))
        (*actors)[count++] = job;
    pthread_mutex_unlock(&client->lock);
    return count;
}

/* Waits until the jobs have ended, with all their processes. */
static void wait_for(struct gw_client *client, const uint64_t *jobs, size_t count,
                     uint64_t deadline_ns)
{
    for (size_t i = 0; i < count && gw_clock_left_ns(deadline_ns) > 0; i++) {
        int exit_code;
        if (jobs[i] && gw_job_wait(client, jobs[i], gw_clock_left_ns(deadline_ns), &exit_code,
                                   NULL) == GW_ECLOSED)
            break;
    }
}

/* On a shared cluster: cancels the jobs that no other client needs. Waits until their last process
 * has ended and the names of the client's actors are free. */
static void end_jobs(struct gw_client *client)
{
    uint64_t *jobs, *actors;
    uint64_t deadline_ns = gw_clock_now_ns() + CLOSE_TIMEOUT_S * GW_NS_PER_S;
    gw_deferred_accept_wait_all(client, CLOSE_TIMEOUT_S * GW_NS_PER_S);
    size_t count = unfinished_jobs(client, &jobs);
    ask_each(client, GW_MESSAGE_cancel, jobs, count, deadline_ns);
    wait_for(client, jobs, count, deadline_ns);
    free(jobs);
    count = named_actors(client, &actors);
    ask_each(client, GW_MESSAGE_actor_release, actors, count, deadline_ns);
    wait_for(client, actors, count, deadline_ns);
    free(actors);
}

void gw_client_close(struct gw_client *client)
{
    if (!client || client->task) /* the task owns this client */
        return;
    if (client->started)
        gw_stream_warn(client);
    if (client->started && !client->cluster)
        end_jobs(client);
    gw_open_undo(client);
}

void gw_open_undo(struct gw_client *client)
{
    gw_fork_unwatch(client);
    if (client->task)
        client->task = NULL; /* futures may outlive the task for a moment */
    pthread_mutex_lock(&client->lock);
    client->closed = true;
    pthread_mutex_unlock(&client->lock);
    gw_reconnect_stop(client);
    gw_io_close(client->io); /* this fails everything that still waits */

    pthread_mutex_lock(&client->lock);
    client->io = NULL;
    gw_descriptor_close(client);
    if (!client->down.code)
        gw_error_set(&client->down, GW_ECLOSED, "the client was closed");
    pthread_mutex_unlock(&client->lock);
    gw_reconnect_close(client);
    gw_cluster_close(client->cluster);
    client->cluster = NULL;
    gw_inline_close(client);
    gw_printer_close(client, PRINT_TIMEOUT_S *
                                 GW_NS_PER_S); /* may wait for a person who reads the output */
    gw_client_unref(client);
}
