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
#include "worker/net/link/mend.h"

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

static void mend_on_given_up(uv_timer_t *timer);

void gw_mend_init(struct gw_host *host,
                  void (*gone)(struct gw_host_link *link, const struct gw_error *error))
{
    host->mend.host = host;
    host->mend.gone = gone;
    host->mend.give_up = mend_on_given_up;
    (void)uv_timer_init(host->loop, &host->mend.timer);
    host->mend.timer.data = host;
}

void gw_mend_close(struct gw_host *host)
{
    uv_close((uv_handle_t *)&host->mend.timer, NULL);
}

void gw_mend_deinit(struct gw_host *host)
{
    gw_backlog_free(host->mend.backlog);
    host->mend.backlog = NULL;
}

/* -- Giving up -----------------------------------------------------------------------------------
 */

/* Ends the reconnect for this connection for good. */
static void stop(struct gw_mend *mend)
{
    (void)uv_timer_stop(&mend->timer);
    gw_backlog_free(mend->backlog);
    mend->backlog = NULL;
    if (mend->second)
        gw_link_close(mend->second->link);
}

static void mend_on_look(uv_timer_t *timer);

static void look(struct gw_mend *mend)
{
    (void)uv_timer_start(&mend->timer, mend_on_look, LOOK_MS, LOOK_MS);
}

static void mend_on_given_up(uv_timer_t *timer)
{
    struct gw_host *host = timer->data;
    struct gw_mend *mend = &host->mend;
    const struct gw_error why = mend->why;
    if (!mend->broken) { /* the reconnect succeeded in the same turn */
        look(mend);
        return;
    }
    stop(mend);
    mend->broken = mend->ended = false;
    mend->gone(host->scheduler, &why);
}

void gw_mend_give_up(struct gw_host *host)
{
    (void)uv_timer_start(&host->mend.timer, mend_on_given_up, 0, 0);
}

/* -- The second connection -----------------------------------------------------------------------
 */

static void dial(struct gw_mend *mend)
{
    struct gw_host *host = mend->host;
    struct gw_message hello = {.type = GW_MESSAGE_hello};
    hello.hello = (struct gw_msg_hello){
        .protocol = GW_PROTOCOL_LINK,
        .role = GW_ROLE_WORKER,
        .pid = (uint32_t)getpid(),
        .version = GANGWAY_VERSION,
        .name = host->options.name,
        .mends = mend->worker,
        .secret = {mend->secret, sizeof mend->secret},
        .taken = gw_intake_say(&mend->intake),
        .dialled = ++mend->dialled,
    };
    (void)gw_host_link_connect_scheduler(host, &mend->second);
    if (!mend->second)
        gw_intake_stay(&mend->intake);
    if (mend->second)
        (void)gw_link_send(mend->second->link, &hello, (struct gw_channel_fds){0});
}

static void mend_on_look(uv_timer_t *timer)
{
    struct gw_host *host = timer->data;
    struct gw_mend *mend = &host->mend;
    uint64_t now_ns = gw_clock_now_ns();
    struct gw_host_link *second = mend->second;
    if (mend->broken && now_ns - mend->heard_ns >= GW_FENCE_NS) {
        gw_mend_give_up(host);
        return;
    }
    if (second && now_ns - second->opened_ns >=
                      (gw_tls_identity(second->transport) ? ANSWER_NS : CONNECT_NS)) {
        gw_tls_abandon(second->transport);
        gw_link_close(second->link);
    }
    if (second || (!mend->broken && now_ns - mend->heard_ns < SILENT_NS))
        return;
    if (!mend->broken && !mend->silent)
        gw_log_info("the scheduler is silent: trying another connection");
    mend->silent = true;
    dial(mend);
}

/* Replaces the scheduler's first connection by the second one and sends the messages again that the
 * scheduler has not received. */
static void adopt(struct gw_mend *mend, uint64_t taken)
{
    struct gw_host *host = mend->host;
    const struct gw_backlog_item *item;
    gw_log_info("reconnected to the scheduler");
    gw_host_link_take_over(host->scheduler, mend->second, mend->broken);
    mend->second = NULL;
    mend->broken = mend->ended = mend->silent = false;
    mend->heard_ns = gw_clock_now_ns();
    gw_intake_move(&mend->intake);
    (void)gw_backlog_took(mend->backlog, taken);
    int rc = 0;
    for (uint64_t number = taken + 1; rc == 0 && (item = gw_backlog_item(mend->backlog, number));
         number++)
        rc = gw_host_send_frame(host->scheduler, item);
    if (rc < 0)
        gw_link_close(host->scheduler->link);
}

void gw_mend_on_second(struct gw_host *host, const struct gw_message *message)
{
    struct gw_mend *mend = &host->mend;
    if (message->type == GW_MESSAGE_mended && mend->backlog &&
        gw_backlog_can_mend(mend->backlog, message->mended.taken)) {
        adopt(mend, message->mended.taken);
        return;
    }
    const bool refused = message->type == GW_MESSAGE_refuse;
    gw_log_warn("cannot resume the connection to the scheduler: %s",
                refused ? message->refuse.text : "too many sent messages are lost");
    gw_link_close(mend->second->link);
    mend->heard_ns = gw_clock_now_ns(); /* the first connection may recover */
    if (mend->broken)
        gw_mend_give_up(host);
    else if (refused &&
             message->refuse.code == GW_ENOENT) /* the scheduler has already given this worker up */
        gw_link_close(host->scheduler->link);
}

void gw_mend_on_second_closed(struct gw_host *host, const struct gw_error *error)
{
    const bool refused = host->mend.second && gw_tls_refused(host->mend.second->transport);
    if (error->code == GW_EPERM || error->code == GW_EPROTO)
        gw_host_link_say_absent(host, error);
    host->mend.second = NULL;
    gw_intake_stay(&host->mend.intake);
    /* The connection was refused, so the scheduler is dead: this is no network failure */
    if (refused && !host->mend.broken) {
        gw_tls_abandon(host->scheduler->transport);
        gw_link_close(host->scheduler->link);
        return;
    }
    if ((refused || host->mend.ended) && host->mend.broken)
        gw_mend_give_up(host);
}

/* -- The first connection ------------------------------------------------------------------------
 */

int gw_mend_on_message(struct gw_host *host, const struct gw_message *message)
{
    struct gw_mend *mend = &host->mend;
    mend->heard_ns = gw_clock_now_ns();
    mend->silent = false;
    if (message->type == GW_MESSAGE_welcome && host->options.connect &&
        message->welcome.secret.size == sizeof mend->secret) {
        gw_mend_deinit(host);
        GW_MUST_PTR(mend->backlog = gw_backlog_new());
        mend->intake = (struct gw_intake){0};
        mend->dialled = 0;
        mend->worker = message->welcome.worker;
        memcpy(mend->secret, message->welcome.secret.data, sizeof mend->secret);
        look(mend);
    }
    if (!mend->backlog)
        return 0;
    if (message->type == GW_MESSAGE_heartbeat)
        return gw_backlog_took(mend->backlog, message->heartbeat.taken);
    return gw_intake_take(&mend->intake, message) ? 0 : GW_EEXIST;
}

bool gw_mend_on_broken(struct gw_host *host, const struct gw_error *error)
{
    struct gw_mend *mend = &host->mend;
    const bool ended = mend->backlog && gw_tls_ended(host->scheduler->transport);
    const bool mends = mend->backlog && !host->exiting && !host->shutting_down &&
                       (error->code == GW_ECLOSED || error->code == GW_EIO) &&
                       (!ended || mend->second);
    if (!mends) {
        stop(mend);
        return false;
    }
    gw_log_info("the connection to the scheduler broke: %s", error->text);
    mend->broken = true;
    host->scheduler->transport = NULL; /* the closed link owns it and frees it */
    mend->ended = ended;
    mend->why = *error;
    if (!mend->second)
        dial(mend);
    return true;
}
