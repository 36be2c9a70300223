/* Sends messages on connections: at once or, to the scheduler, together with the next message. */
#include "worker/net/link/send.h"

#include "graph/base/clock.h"
#include "graph/base/log.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/enums.h"
#include "worker/net/link/step.h"

#include <stdio.h>

#define LAZY_NS (200 * GW_NS_PER_US) /* runners also gather reports for this time */
/* A peer with more unsent data is disconnected, since it does not read. */
enum { QUEUED_BYTES_MAX = 64 << 20 };

int gw_host_send_frame(struct gw_host_link *link, const struct gw_backlog_item *item)
{
    return gw_link_send_frame_copies(
        link->link, (struct gw_bin){item->frame, (uint32_t)item->bytes}, item->fds, item->fd_count);
}

/* Writes a description of the peer: its role, and its process id on this host or its network
 * address. */
static void name_peer(const struct gw_host_link *link, char *name, size_t bytes)
{
    struct ucred peer;
    char address[GW_ENDPOINT_TEXT_MAX] = "";
    const char *what = link->role == GW_ROLE_SCHEDULER    ? "the scheduler"
                       : link->role == GW_ROLE_SUPERVISOR ? "the supervisor"
                       : link->role == GW_ROLE_RUNNER     ? "a runner"
                       : link->role == GW_ROLE_PEER       ? "another worker"
                                                          : "a peer";
    if (!link->transport && gw_link_peer(link->link, &peer) == 0)
        (void)snprintf(name, bytes, "%s, process %d,", what, (int)peer.pid);
    else if (gw_endpoint_peer(gw_link_fd(link->link), address), *address)
        (void)snprintf(name, bytes, "%s, at %s,", what, address);
    else
        (void)snprintf(name, bytes, "%s", what);
}

static void disconnect_deaf(const struct gw_host_link *link)
{
    char name[GW_ENDPOINT_TEXT_MAX + 64];
    name_peer(link, name, sizeof name);
    gw_log_warn("%s does not read its messages: disconnected with %d MiB unsent", name,
                QUEUED_BYTES_MAX >> 20);
    gw_link_close(link->link);
}

/* Tells the core if the scheduler reads slowly. The core then delays messages that may wait. This
 * is checked after each message, but "reads again" is noticed only at a heartbeat. */
static void look_at_queue(struct gw_host_link *link, bool beat)
{
    struct gw_host *host = link->host;
    const uint64_t queued_bytes = gw_link_queued_bytes(link->link);
    const bool slow = queued_bytes > GW_NODE_SLOW_BYTES;
    if (link != host->scheduler || slow == host->scheduler_slow || (!slow && !beat))
        return;
    host->scheduler_slow = slow;
    gw_log_info("the scheduler %s its messages: %.1f MiB wait to be sent to it",
                slow ? "reads slowly" : "reads again", (double)queued_bytes / (1 << 20));
    gw_step_later(host, &(struct gw_event){.type = GW_EVENT_QUEUED, .bytes = queued_bytes});
}

/* Adds a message to the backlog, and sends it unless the connection is broken. Returns 0 or the
 * error of gw_backlog_add. */

static int send_counted(struct gw_host *host, const struct gw_message *message, const int *fds,
                        uint8_t count)
{
    struct gw_host_reconnect *reconnect = &host->reconnect;
    const struct gw_backlog_item *item;
    int rc = gw_backlog_add(reconnect->backlog, message, fds, count, &item);
    return rc < 0 || reconnect->broken ? rc : gw_host_send_frame(host->scheduler, item);
}

void gw_host_send(struct gw_host_link *link, const struct gw_message *message, const int *fds,
                  uint8_t count)
{
    int rc;
    struct gw_host_reconnect *reconnect = &link->host->reconnect;
    const bool scheduler = link == link->host->scheduler && reconnect->backlog;
    if (scheduler && gw_backlog_counts(message))
        rc = send_counted(link->host, message, fds, count);
    else if (scheduler && reconnect->broken)
        return;
    else
        rc = gw_link_send_copies(link->link, message, fds, count);
    if (rc < 0)
        gw_log_error("cannot send %s: %s", gw_message_name(message->type), gw_error_text(rc));
    if (scheduler && reconnect->broken) {
        if (rc < 0)
            (void)uv_timer_start(&reconnect->timer, reconnect->give_up, 0, 0);
    } else if (rc < 0) {
        gw_link_close(link->link);
    } else if (gw_link_queued_bytes(link->link) > QUEUED_BYTES_MAX) {
        disconnect_deaf(link);
    } else {
        look_at_queue(link, message->type == GW_MESSAGE_heartbeat);
    }
}

void gw_host_send_scheduler(const struct gw_message *message, void *arg)
{
    struct gw_host *host = arg;
    if (!host->welcomed || host->scheduler->closed)
        return;
    struct gw_message stamped = *message;
    gw_node_core_stamp(host->core, &stamped);
    gw_host_send(host->scheduler, &stamped, NULL, 0);
}

/* -- Messages that may wait ----------------------------------------------------------------------
 *
 * A message that was held back leaves with the next message to the scheduler, or at the next step
 * after LAZY_NS. The timer has a coarser resolution of milliseconds. It is needed if no step comes.
 */

static void lazy_flush(struct gw_host *host)
{
    host->lazy_since_ns = 0;
    if (host->scheduler && !host->scheduler->closed)
        gw_link_urge(host->scheduler->link);
}

static void lazy_on_timer(uv_timer_t *timer)
{
    struct gw_host *host = timer->data;
    if (host->lazy_since_ns)
        lazy_flush(host);
}

/* A connection with a backlog must record each message, so nothing is held back on it. */
bool gw_host_send_lazily(struct gw_host_link *link, const struct gw_message *message)
{
    struct gw_host *host = link->host;
    if (link != host->scheduler || host->reconnect.backlog || gw_link_hold(link->link, message) < 0)
        return false;
    if (!host->lazy_since_ns) {
        host->lazy_since_ns = gw_clock_now_ns();
        if (!uv_is_active((uv_handle_t *)&host->lazy))
            (void)uv_timer_start(&host->lazy, lazy_on_timer, 1, 0);
    }
    return true;
}

void gw_host_send_look_at_lazy(struct gw_host *host, uint64_t now_ns)
{
    if (host->lazy_since_ns && now_ns >= host->lazy_since_ns + LAZY_NS)
        lazy_flush(host);
}
