/* Opens and accepts connections, and sends the first message (hello) on them. peers.c handles what
 * arrives on them. */
#include "worker/net/link/host_link.h"

#include "graph/base/clock.h"
#include "graph/base/log.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/enums.h"
#include "graph/wire/timeouts.h"
#include "worker/net/link/step.h"

#include <gangway/version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct gw_host_link *gw_host_link_find(const struct gw_host *host, uint64_t id)
{
    uint64_t value;
    return gw_map_get(&host->links, id, &value) ? (struct gw_host_link *)(uintptr_t)value : NULL;
}

/* Creates a connection on a descriptor or a transport, which it takes over. Returns NULL if this
 * fails. The descriptor is then closed. */
static struct gw_host_link *link_new(struct gw_host *host, int fd, struct gw_transport *transport,
                                     uint32_t role)
{
    struct gw_host_link *link = calloc(1, sizeof *link);
    GW_MUST_PTR(link);
    link->host = host;
    link->role = role;
    link->id = host->next_peer++;
    link->opened_ns = gw_clock_now_ns();
    link->transport = transport;
    struct gw_link_callbacks callbacks = host->link_callbacks;
    callbacks.arg = link;
    int rc = transport ? gw_link_open_over(host->loop, transport, &callbacks, &link->link)
                       : gw_link_open(host->loop, fd, &callbacks, &link->link);
    if (rc < 0) {
        free(link);
        return NULL;
    }
    if (role == GW_ROLE_SCHEDULER)
        gw_link_set_brisk(link->link);
    GW_MUST(gw_map_put(&host->links, link->id, (uintptr_t)link));
    return link;
}

struct gw_host_link *gw_host_link_new(struct gw_host *host, int fd, uint32_t role)
{
    return link_new(host, fd, NULL, role);
}

/* Closes incoming connections that have not sent hello in time. */
static void hello_on_timer(uv_timer_t *timer)
{
    struct gw_host *host = timer->data;
    const uint64_t now_ns = gw_clock_now_ns();
    for (const struct gw_greeting *greeting = host->greetings.first; greeting;
         greeting = greeting->next) {
        struct gw_host_link *link = greeting->arg;
        if (!link->closed && now_ns - link->opened_ns >= GW_GREETING_MS_MAX * GW_NS_PER_MS)
            gw_link_close(link->link);
    }
    if (host->greetings.count)
        (void)uv_timer_start(timer, hello_on_timer, GW_GREETING_MS_MAX / 4, 0);
}

void gw_host_link_greet(struct gw_host *host, int fd, struct gw_transport *transport)
{
    struct gw_host_link *link = link_new(host, fd, transport, 0);
    if (!link)
        return;
    const struct gw_greeting *oldest = gw_greetings_add(&host->greetings, &link->greeting, link);
    if (oldest)
        gw_link_close(((struct gw_host_link *)oldest->arg)->link);
    if (!uv_is_active((uv_handle_t *)&host->hello_timer))
        (void)uv_timer_start(&host->hello_timer, hello_on_timer, GW_GREETING_MS_MAX, 0);
}

void gw_host_link_say_hello(struct gw_host_link *link, uint32_t role)
{
    struct gw_message message = {.type = GW_MESSAGE_hello};
    message.hello = (struct gw_msg_hello){
        .protocol = GW_PROTOCOL_LINK,
        .role = role,
        .pid = (uint32_t)getpid(),
        .version = GANGWAY_VERSION,
        .name = link->host->options.name,
    };
    (void)gw_link_send(link->link, &message, (struct gw_channel_fds){0});
}

/* Opens a TLS connection to the scheduler. */
static int connect_tls(const struct gw_host *host, struct gw_transport **transport,
                       struct gw_error *error)
{
    int fd, rc = gw_endpoint_connect(host->scheduler_path, &fd, error);
    return rc < 0 ? rc : gw_tls_connect(fd, host->options.key, transport, error);
}

int gw_host_link_connect_scheduler(struct gw_host *host, struct gw_host_link **link)
{
    struct gw_transport *transport = NULL;
    int fd = -1, rc = host->options.connect ? connect_tls(host, &transport, NULL)
                                            : gw_endpoint_connect(host->scheduler_path, &fd, NULL);
    *link = rc < 0 ? NULL : link_new(host, fd, transport, GW_ROLE_SCHEDULER);
    return rc;
}

/* Connecting is tried again every few seconds, possibly for days, so only some failures are logged.
 */
void gw_host_link_say_absent(struct gw_host *host, const struct gw_error *error)
{
    const char *why = error->code ? error->text : "connected, but no answer came";
    struct gw_error said;
    uint32_t times;
    if (error->code == GW_EPERM) {
        (void)gw_error_set(&said, error->code,
                           "%s before the peer proved that it is the scheduler: the token was "
                           "revoked, or another program answers at this address",
                           error->text);
        why = said.text;
    }
    if (!gw_complaint_is_due(&host->absent, why, gw_clock_now_ns(), &times))
        return;
    if (times == 1)
        gw_log_warn("cannot connect to the scheduler at %s: %s; trying again until it answers",
                    host->scheduler_path, why);
    else
        gw_log_warn(
            "cannot connect to the scheduler at %s: %s (tried %u times since the last message)",
            host->scheduler_path, why, times);
}

static void deaf_on_message(struct gw_link *handle, const struct gw_message *message,
                            const int *fds, uint8_t fd_count, void *arg)
{
    (void)handle;
    (void)message;
    (void)arg;
    for (uint8_t i = 0; i < fd_count; i++)
        close(fds[i]);
}

static void deaf_on_close(struct gw_link *handle, const struct gw_error *error, void *arg)
{
    (void)handle;
    (void)error;
    (void)arg;
}

void gw_host_link_take_over(struct gw_host_link *link, struct gw_host_link *other, bool broken)
{
    const struct gw_link_callbacks deaf = {deaf_on_message, deaf_on_close, NULL};
    struct gw_link_callbacks callbacks = link->host->link_callbacks;
    callbacks.arg = link;
    if (!broken) {
        gw_link_hand_over(link->link, &deaf);
        gw_link_close(link->link);
    }
    link->link = other->link;
    link->transport = other->transport;
    gw_link_hand_over(link->link, &callbacks);
    gw_map_remove(&link->host->links, other->id);
    free(other);
}

int gw_host_link_connect_task(struct gw_host *host, uint64_t attempt, uint32_t rank, int *fd,
                              struct gw_error *error)
{
    struct gw_message message = {.type = GW_MESSAGE_hello, .sequence = 1};
    message.hello = (struct gw_msg_hello){
        .protocol = GW_PROTOCOL_LINK,
        .role = GW_ROLE_TASK,
        .pid = (uint32_t)getpid(),
        .version = GANGWAY_VERSION,
        .name = host->options.name,
        .attempt = attempt,
        .rank = rank,
    };
    if (host->options.connect) {
        struct gw_transport *transport;
        int rc = connect_tls(host, &transport, error);
        if (rc == 0)
            rc = gw_relay_open(&host->relays, host->loop, transport, &message, fd, error);
        return rc == 0 || rc == GW_EAGAIN ? rc : GW_EIO;
    }
    struct gw_buffer frame = {0};
    int opened, rc = gw_endpoint_connect(host->scheduler_path, &opened, error);
    if (rc < 0)
        return rc == GW_EAGAIN ? rc : GW_EIO;
    rc = gw_message_encode(&message, 0, &frame);
    /* The buffer of a new socket has room for a whole frame of this size. */
    if (rc == 0 && send(opened, frame.data, frame.size, MSG_NOSIGNAL) != (ssize_t)frame.size)
        rc = GW_EIO;
    gw_buffer_deinit(&frame);
    if (rc < 0) {
        close(opened);
        return gw_error_set(error, rc, "cannot send hello to the scheduler: %s", gw_error_text(rc));
    }
    *fd = opened;
    return 0;
}

/* Opens a connection to the endpoint of another worker. Returns NULL and sets the error if it
 * fails. */
static struct gw_host_link *connect_peer(struct gw_host *host, uint32_t worker, const char *address,
                                         struct gw_error *error)
{
    const struct gw_tls_key *key = gw_keyring_key(&host->keyring, worker);
    struct gw_transport *transport = NULL;
    bool tcp = gw_endpoint_is_tcp(address);
    int fd, rc = 0;
    if (tcp && !key)
        rc = gw_error_set(error, GW_EPERM,
                          "this worker has no key for the other one: the scheduler has sent none");
    if (rc == 0)
        rc = gw_endpoint_connect(address, &fd, error);
    if (rc == 0 && tcp)
        rc = gw_tls_connect(fd, key, &transport, error);
    if (rc < 0)
        return NULL;
    struct gw_host_link *link = link_new(host, fd, transport, GW_ROLE_PEER);
    if (!link)
        (void)gw_error_set(error, GW_EIO,
                           "this worker has as many files open as it may (ulimit -n)");
    return link;
}

struct gw_host_link *gw_host_link_dial_peer(struct gw_host *host, uint32_t worker,
                                            const char *address, struct gw_error *error)
{
    struct gw_host_link *link = connect_peer(host, worker, address, error);
    if (!link)
        return NULL;
    link->transfers = true;
    gw_host_link_say_hello(link, GW_ROLE_PEER);
    return link;
}

void gw_host_link_connect_peer(struct gw_host *host, uint32_t worker, const char *address)
{
    struct gw_error error;
    struct gw_host_link *link = connect_peer(host, worker, address, &error);
    if (!link) {
        gw_log_warn("cannot connect to worker %u at %s: %s", worker, address, error.text);
        gw_step_later(host, &(struct gw_event){.type = GW_EVENT_CLOSE,
                                               .number = worker,
                                               .code = GW_ECLOSED,
                                               .text = "cannot connect"});
        return;
    }
    link->told_core = true;
    gw_host_link_say_hello(link, GW_ROLE_PEER);
    gw_step_later(host, &(struct gw_event){.type = GW_EVENT_OPEN,
                                           .peer = {link->id},
                                           .number = worker,
                                           .uid = geteuid(),
                                           .role = GW_ROLE_PEER});
}
