/* Reconnect of a worker to its scheduler.
 *
 * A broken network path often does not close a connection: the kernel only retries more and more
 * slowly. After eight seconds of silence its next retry would come after the time at which this
 * worker kills its runners (the fence). Therefore the worker opens further connections after
 * SILENT_NS of silence. The first one that succeeds replaces the old one. Until the other side has
 * proven that it is the scheduler, a new connection that fails counts as one that broke.
 *
 * When the scheduler has moved to the second connection, it resets the first. A proxy in between
 * may deliver this reset as a normal end, and before the answer on the second connection. So the
 * end of the first connection counts only if there is no second one or the second one has failed.
 *
 * Invariants: each message of the core is added to the backlog, in order, before it is sent. After
 * hello was sent on the second connection, this worker never closes it properly, since the
 * scheduler may have moved to it. It abandons the connection, and the scheduler then waits for the
 * next one. */
#include "worker/net/link/reconnect.h"

#include "graph/base/clock.h"
#include "graph/base/log.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"
#include "graph/wire/timeouts.h"
#include "worker/net/link/host_link.h"
#include "worker/net/link/send.h"
#include "worker/net/link/state.h"

#include <fcntl.h>
#include <gangway/version.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 250 };
#define SILENT_NS (4500 * GW_NS_PER_MS)  /* four heartbeats are missing */
#define CONNECT_NS (1000 * GW_NS_PER_MS) /* time to connect before the next attempt */
/* Time from the TLS handshake to an answer before the next attempt */
#define ANSWER_NS (2500 * GW_NS_PER_MS)
static_assert(CONNECT_NS + LOOK_MS * GW_NS_PER_MS < GW_REDIAL_NS, "it is dialled often enough");

static void reconnect_on_given_up(uv_timer_t *timer);

void gw_host_reconnect_init(struct gw_host *host,
                            void (*gone)(struct gw_host_link *link, const struct gw_error *error))
{
    host->reconnect.host = host;
    host->reconnect.gone = gone;
    host->reconnect.give_up = reconnect_on_given_up;
    (void)uv_timer_init(host->loop, &host->reconnect.timer);
    host->reconnect.timer.data = host;
}

void gw_host_reconnect_close(struct gw_host *host)
{
    uv_close((uv_handle_t *)&host->reconnect.timer, NULL);
}

void gw_host_reconnect_deinit(struct gw_host *host)
{
    gw_backlog_free(host->reconnect.backlog);
    host->reconnect.backlog = NULL;
}

/* -- Giving up -----------------------------------------------------------------------------------
 */

/* Ends the reconnect for this connection for good. */
static void stop(struct gw_host_reconnect *reconnect)
{
    (void)uv_timer_stop(&reconnect->timer);
    gw_backlog_free(reconnect->backlog);
    reconnect->backlog = NULL;
    if (reconnect->second)
        gw_link_close(reconnect->second->link);
}

static void reconnect_on_look(uv_timer_t *timer);

static void look(struct gw_host_reconnect *reconnect)
{
    (void)uv_timer_start(&reconnect->timer, reconnect_on_look, LOOK_MS, LOOK_MS);
}

static void reconnect_on_given_up(uv_timer_t *timer)
{
    struct gw_host *host = timer->data;
    struct gw_host_reconnect *reconnect = &host->reconnect;
    const struct gw_error why = reconnect->why;
    if (!reconnect->broken) { /* the reconnect succeeded in the same turn */
        look(reconnect);
        return;
    }
    stop(reconnect);
    reconnect->broken = reconnect->ended = false;
    reconnect->gone(host->scheduler, &why);
}

void gw_host_reconnect_give_up(struct gw_host *host)
{
    (void)uv_timer_start(&host->reconnect.timer, reconnect_on_given_up, 0, 0);
}

/* -- The second connection -----------------------------------------------------------------------
 */

static void dial(struct gw_host_reconnect *reconnect)
{
    struct gw_host *host = reconnect->host;
    struct gw_message hello = {.type = GW_MESSAGE_hello};
    hello.hello = (struct gw_msg_hello){
        .protocol = GW_PROTOCOL_LINK,
        .role = GW_ROLE_WORKER,
        .pid = (uint32_t)getpid(),
        .version = GANGWAY_VERSION,
        .name = host->options.name,
        .reconnects = reconnect->worker,
        .secret = {reconnect->secret, sizeof reconnect->secret},
        .taken = gw_intake_say(&reconnect->intake),
        .dialled = ++reconnect->dialled,
    };
    (void)gw_host_link_connect_scheduler(host, &reconnect->second);
    if (!reconnect->second)
        gw_intake_stay(&reconnect->intake);
    if (reconnect->second)
        (void)gw_link_send(reconnect->second->link, &hello, (struct gw_channel_fds){0});
}

static void reconnect_on_look(uv_timer_t *timer)
{
    struct gw_host *host = timer->data;
    struct gw_host_reconnect *reconnect = &host->reconnect;
    uint64_t now_ns = gw_clock_now_ns();
    struct gw_host_link *second = reconnect->second;
    if (reconnect->broken && now_ns - reconnect->heard_ns >= GW_FENCE_NS) {
        gw_host_reconnect_give_up(host);
        return;
    }
    if (second && now_ns - second->opened_ns >=
                      (gw_tls_identity(second->transport) ? ANSWER_NS : CONNECT_NS)) {
        gw_tls_abandon(second->transport);
        gw_link_close(second->link);
    }
    if (second || (!reconnect->broken && now_ns - reconnect->heard_ns < SILENT_NS))
        return;
    if (!reconnect->broken && !reconnect->silent)
        gw_log_info(
            "the scheduler has sent nothing for some time: this worker tries another connection");
    reconnect->silent = true;
    dial(reconnect);
}

/* Replaces the scheduler's first connection by the second one and sends the messages again that the
 * scheduler has not received. */
static void adopt(struct gw_host_reconnect *reconnect, uint64_t taken)
{
    struct gw_host *host = reconnect->host;
    const struct gw_backlog_item *item;
    gw_log_info("reconnected to the scheduler");
    gw_host_link_take_over(host->scheduler, reconnect->second, reconnect->broken);
    reconnect->second = NULL;
    reconnect->broken = reconnect->ended = reconnect->silent = false;
    reconnect->heard_ns = gw_clock_now_ns();
    gw_intake_move(&reconnect->intake);
    (void)gw_backlog_took(reconnect->backlog, taken);
    int rc = 0;
    for (uint64_t number = taken + 1;
         rc == 0 && (item = gw_backlog_item(reconnect->backlog, number)); number++)
        rc = gw_host_send_frame(host->scheduler, item);
    if (rc < 0)
        gw_link_close(host->scheduler->link);
}

void gw_host_reconnect_on_second(struct gw_host *host, const struct gw_message *message)
{
    struct gw_host_reconnect *reconnect = &host->reconnect;
    if (message->type == GW_MESSAGE_heartbeat)
        return; /* it overtook the answer */
    if (message->type == GW_MESSAGE_reconnected && reconnect->backlog &&
        gw_backlog_can_reconnect(reconnect->backlog, message->reconnected.taken)) {
        adopt(reconnect, message->reconnected.taken);
        return;
    }
    const bool refused = message->type == GW_MESSAGE_refuse;
    gw_log_warn("cannot continue with the tasks from before the connection broke: %s",
                refused ? message->refuse.text : "more messages were lost than this worker stores");
    gw_link_close(reconnect->second->link);
    reconnect->heard_ns = gw_clock_now_ns(); /* the first connection may recover */
    if (reconnect->broken)
        gw_host_reconnect_give_up(host);
    else if (refused &&
             message->refuse.code == GW_ENOENT) /* the scheduler has already given this worker up */
        gw_link_close(host->scheduler->link);
}

void gw_host_reconnect_on_second_closed(struct gw_host *host, const struct gw_error *error)
{
    const bool refused =
        host->reconnect.second && gw_tls_refused(host->reconnect.second->transport);
    if (error->code == GW_EPERM || error->code == GW_EPROTO)
        gw_host_link_say_absent(host, error);
    host->reconnect.second = NULL;
    gw_intake_stay(&host->reconnect.intake);
    /* The connection was refused, so the scheduler is dead: this is no network failure */
    if (refused && !host->reconnect.broken) {
        gw_tls_abandon(host->scheduler->transport);
        gw_link_close(host->scheduler->link);
        return;
    }
    if ((refused || host->reconnect.ended) && host->reconnect.broken)
        gw_host_reconnect_give_up(host);
}

/* -- The first connection ------------------------------------------------------------------------
 */

int gw_host_reconnect_on_message(struct gw_host *host, const struct gw_message *message)
{
    struct gw_host_reconnect *reconnect = &host->reconnect;
    reconnect->heard_ns = gw_clock_now_ns();
    reconnect->silent = false;
    if (message->type == GW_MESSAGE_welcome && host->options.connect &&
        message->welcome.secret.size == sizeof reconnect->secret) {
        gw_host_reconnect_deinit(host);
        GW_MUST_PTR(reconnect->backlog = gw_backlog_new());
        reconnect->intake = (struct gw_intake){0};
        reconnect->dialled = 0;
        reconnect->worker = message->welcome.worker;
        memcpy(reconnect->secret, message->welcome.secret.data, sizeof reconnect->secret);
        look(reconnect);
    }
    if (!reconnect->backlog)
        return 0;
    if (message->type == GW_MESSAGE_heartbeat)
        return gw_backlog_took(reconnect->backlog, message->heartbeat.taken);
    return gw_intake_take(&reconnect->intake, message) ? 0 : GW_EEXIST;
}

bool gw_host_reconnect_on_broken(struct gw_host *host, const struct gw_error *error)
{
    struct gw_host_reconnect *reconnect = &host->reconnect;
    const bool ended = reconnect->backlog && gw_tls_ended(host->scheduler->transport);
    const bool reconnects = reconnect->backlog && !host->exiting && !host->shutting_down &&
                            (error->code == GW_ECLOSED || error->code == GW_EIO) &&
                            (!ended || reconnect->second);
    if (!reconnects) {
        stop(reconnect);
        return false;
    }
    gw_log_info("the connection to the scheduler broke: %s", error->text);
    reconnect->broken = true;
    host->scheduler->transport = NULL; /* the closed link owns it and frees it */
    reconnect->ended = ended;
    reconnect->why = *error;
    if (!reconnect->second)
        dial(reconnect);
    return true;
}
