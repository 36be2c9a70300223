/* Passes messages between two connections in both directions. Invariants: if one side sends faster
 * than the other reads, it is not read meanwhile. If one side closes, all its messages are passed
 * on first, and then the other side is closed. */
#include "worker/net/parts/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { QUEUED_BYTES_MAX = 4 << 20 };

struct side {
    struct gw_relay *relay;
    struct side *other;
    struct gw_link *link; /* NULL: closed */
    bool paused, closing;
};

struct gw_relay {
    struct gw_relay *prev, *next;
    struct gw_relays *relays;
    uid_t user;
    struct side sides[2]; /* [0]: to the task, [1]: to the scheduler */
    uv_prepare_t watch;   /* active while a side is paused */
    bool watching, watch_closed;
};

static void relay_free(struct gw_relay *relay)
{
    if (relay->sides[0].link || relay->sides[1].link || !relay->watch_closed)
        return;
    if (relay->prev)
        relay->prev->next = relay->next;
    else
        relay->relays->first = relay->next;
    if (relay->next)
        relay->next->prev = relay->prev;
    relay->relays->count--;
    free(relay);
}

static void relay_on_watch_closed(uv_handle_t *handle)
{
    struct gw_relay *relay = handle->data;
    relay->watch_closed = true;
    relay_free(relay);
}

static void side_close(struct side *side)
{
    if (side->link && !side->closing) {
        side->closing = true;
        gw_link_close(side->link);
    }
}

/* Reads from a paused side again if the other side has room. */
static void relay_on_prepare(uv_prepare_t *watch)
{
    struct gw_relay *relay = watch->data;
    bool paused = false;
    for (int i = 0; i < 2; i++) {
        struct side *side = &relay->sides[i];
        if (!side->paused || !side->link || side->closing)
            continue;
        if (!side->other->link || gw_link_queued_bytes(side->other->link) <= QUEUED_BYTES_MAX / 2) {
            side->paused = false;
            gw_link_resume(side->link);
        }
        paused = paused || side->paused;
    }
    if (!paused) {
        (void)uv_prepare_stop(watch);
        relay->watching = false;
    }
}

static void relay_on_message(struct gw_link *link, const struct gw_message *message, const int *fds,
                             uint8_t fd_count, void *arg)
{
    struct side *side = arg, *other = side->other;
    if (!other->link || other->closing) {
        for (uint8_t i = 0; i < fd_count; i++)
            (void)close(fds[i]);
        return;
    }
    if (gw_link_send(other->link, message, (struct gw_channel_fds){fds, fd_count, true}) < 0) {
        side_close(other);
        side_close(side);
    } else if (gw_link_queued_bytes(other->link) > QUEUED_BYTES_MAX && !side->paused) {
        side->paused = true;
        gw_link_pause(link);
        if (!side->relay->watching)
            (void)uv_prepare_start(&side->relay->watch, relay_on_prepare);
        side->relay->watching = true;
    }
}

static void relay_on_close(struct gw_link *link, const struct gw_error *error, void *arg)
{
    struct side *side = arg;
    (void)link;
    (void)error; /* the other side is closed, too */
    side->link = NULL;
    side_close(side->other);
    if (!uv_is_closing((uv_handle_t *)&side->relay->watch))
        uv_close((uv_handle_t *)&side->relay->watch, relay_on_watch_closed);
    relay_free(side->relay);
}

int gw_relay_open(struct gw_relays *relays, uv_loop_t *loop, struct gw_transport *transport,
                  const struct gw_message *hello, int *fd, struct gw_error *error)
{
    int pair[2];
    struct gw_relay *relay = calloc(1, sizeof *relay);
    if (!relay || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        int rc = relay ? GW_EIO : GW_ENOMEM;
        free(relay);
        transport->free(transport);
        return gw_error_set(error, rc, "cannot connect a task to the scheduler: %s",
                            strerror(errno));
    }
    (void)fcntl(pair[1], F_SETFL, O_NONBLOCK);
    relay->relays = relays;
    struct gw_link_callbacks callbacks[2];
    for (int i = 0; i < 2; i++) {
        relay->sides[i] = (struct side){.relay = relay, .other = &relay->sides[!i]};
        callbacks[i] =
            (struct gw_link_callbacks){relay_on_message, relay_on_close, &relay->sides[i]};
    }
    int rc = gw_link_open(loop, pair[1], &callbacks[0], &relay->sides[0].link);
    if (rc < 0) {
        transport->free(transport);
        (void)close(pair[0]);
        free(relay);
        return gw_error_set(error, rc, "cannot connect a task to the scheduler: %s",
                            gw_error_text(rc));
    }
    (void)uv_prepare_init(loop, &relay->watch);
    relay->watch.data = relay;
    relay->next = relays->first;
    if (relay->next)
        relay->next->prev = relay;
    relays->first = relay;
    relays->count++;
    rc = gw_link_open_over(loop, transport, &callbacks[1], &relay->sides[1].link);
    if (rc == 0)
        rc = gw_link_send(relay->sides[1].link, hello, (struct gw_channel_fds){0});
    if (rc < 0) {
        side_close(&relay->sides[0]); /* closes the other side, too */
        (void)close(pair[0]);
        return gw_error_set(error, rc, "cannot connect a task to the scheduler: %s",
                            gw_error_text(rc));
    }
    *fd = pair[0];
    return 0;
}

void gw_relays_set_user(struct gw_relays *relays, uid_t user)
{
    if (relays->first)
        relays->first->user = user;
}

uint32_t gw_relays_of(const struct gw_relays *relays, uid_t user)
{
    uint32_t count = 0;
    for (const struct gw_relay *relay = relays->first; relay; relay = relay->next)
        count += relay->user == user;
    return count;
}

void gw_relays_close(struct gw_relays *relays)
{
    for (struct gw_relay *relay = relays->first; relay; relay = relay->next) {
        side_close(&relay->sides[0]);
        side_close(&relay->sides[1]);
    }
}
