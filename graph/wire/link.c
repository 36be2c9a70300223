/* A link: a poll handle and an idle handle for a channel.
 *
 * The idle handle implements "at the end of the turn". It is started if something must be done
 * later: send bytes, deliver buffered messages, or report an error. While an idle handle is active,
 * the loop's next poll does not block, and the handle runs before that poll, no matter in which
 * phase of the loop it was started. A prepare handle would not work: if another prepare handle
 * started it, the loop could block in the poll first.
 *
 * States: a link is open until gw_link_close or an error. Then it is closing until both handles are
 * closed. Then on_close is called and the link is freed. A closing link delivers no messages. */
#include "graph/wire/link.h"

#include "graph/wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct gw_link {
    uv_poll_t poll;
    uv_idle_t idle;
    struct gw_channel *channel;
    struct gw_link_callbacks callbacks;
    struct gw_error error; /* the error for on_close */
    int events;            /* events that the poll handle waits for */
    uint8_t handles;       /* number of handles that are not closed */
    bool closing;
    bool paused;
    bool lent;        /* paused, and read by another thread */
    bool over;        /* over a transport */
    bool input;       /* the channel may contain complete messages */
    bool write_full;  /* the socket is full: wait for UV_WRITABLE */
    bool write_ended; /* the other side reads no more: deliver what it has sent, then close */
};

static void link_on_poll(uv_poll_t *poll, int status, int events);
static void link_on_idle(uv_idle_t *idle);

static void later(struct gw_link *link)
{
    (void)uv_idle_start(&link->idle,
                        link_on_idle); /* cannot fail; starting it twice has no effect */
}

static void link_on_handle_closed(uv_handle_t *handle)
{
    struct gw_link *link = handle->data;
    if (--link->handles)
        return;
    link->callbacks.on_close(link, &link->error, link->callbacks.arg);
    gw_channel_free(link->channel);
    free(link);
}

/* Stops both handles. on_close follows in a later phase of the loop. */
static void link_end(struct gw_link *link)
{
    link->closing = true;
    uv_close((uv_handle_t *)&link->poll, link_on_handle_closed);
    uv_close((uv_handle_t *)&link->idle, link_on_handle_closed);
}

static void link_fail(struct gw_link *link, int code, const char *text)
{
    (void)gw_error_set(&link->error, code, "%s", text);
    link_end(link);
}

/* Reports the error of the socket itself, because libuv reports every socket error as a bad
 * descriptor. */
static void fail_by_socket(struct gw_link *link)
{
    int errnum = 0;
    socklen_t bytes = sizeof errnum;
    if (getsockopt(gw_channel_fd(link->channel), SOL_SOCKET, SO_ERROR, &errnum, &bytes) < 0)
        errnum = errno;
    link_fail(link, GW_EIO, errnum ? strerror(errnum) : "connection closed by the other side");
}

/* Sets the events of the poll handle according to the state. */
static void watch(struct gw_link *link)
{
    int events = (link->paused ? 0 : UV_READABLE) | (link->write_full ? UV_WRITABLE : 0);
    if (link->closing || events == link->events)
        return;
    int rc = events ? uv_poll_start(&link->poll, events, link_on_poll) : uv_poll_stop(&link->poll);
    if (rc < 0)
        link_fail(link, GW_EIO, uv_strerror(rc));
    else
        link->events = events;
}

static void flush(struct gw_link *link)
{
    int rc = gw_channel_flush(link->channel);
    const bool turn_over = rc == GW_EAGAIN && gw_channel_turn_over(link->channel);
    link->write_full = rc == GW_EAGAIN && !turn_over && gw_channel_blocked(link->channel);
    if (turn_over)
        later(link);
    if (rc == GW_ECLOSED) {
        link->write_ended = true;
        link->input = true; /* deliver what it sent before it closed */
        later(link);
    } else if (rc < 0 && rc != GW_EAGAIN) {
        link_fail(link, rc, gw_channel_failure(link->channel));
    }
}

/* Called after a read over a transport. The transport may contain more data, and may now be able to
 * send. */
static void go_on(struct gw_link *link)
{
    if (link->closing || !link->over)
        return;
    if (!link->paused && gw_channel_pending(link->channel)) {
        link->input = true;
        later(link);
    }
    if (!link->write_full)
        later(link);
}

/* Delivers the buffered messages and those of one read, unless the callback pauses or closes the
 * link. It reads only once, so that a peer that sends continuously does not block other peers. If
 * more data is waiting, the poll handle reports it again. */
static void deliver(struct gw_link *link)
{
    int fds[GW_FRAME_FDS_MAX];
    uint8_t fd_count;
    bool read = false;
    link->input = false;
    while (!link->closing && !link->paused) {
        struct gw_message message;
        struct gw_error error;
        int rc = gw_channel_get(link->channel, false, &message, fds, &fd_count, &error);
        if (rc == GW_EAGAIN && read)
            break;
        if (rc == GW_EAGAIN) {
            read = true;
            rc = gw_channel_get(link->channel, true, &message, fds, &fd_count, &error);
        }
        if (rc == 0)
            link->callbacks.on_message(link, &message, fds, fd_count, link->callbacks.arg);
        else if (rc != GW_EAGAIN)
            link_fail(link, rc, error.text);
        else if (link->write_ended)
            link_fail(link, GW_ECLOSED, "connection closed by the other side");
        else
            break;
    }
    go_on(link);
}

int gw_link_read(struct gw_link *link, struct gw_error *error)
{
    struct gw_message message;
    int fds[GW_FRAME_FDS_MAX], rc = 0;
    uint8_t fd_count;
    bool read = false;
    while (rc == 0) {
        rc = gw_channel_get(link->channel, false, &message, fds, &fd_count, error);
        if (rc == GW_EAGAIN && !read) {
            read = true;
            rc = gw_channel_get(link->channel, true, &message, fds, &fd_count, error);
        }
        if (rc == 0)
            link->callbacks.on_message(link, &message, fds, fd_count, link->callbacks.arg);
    }
    return rc == GW_EAGAIN ? 0 : rc;
}

static void link_on_poll(uv_poll_t *poll, int status, int events)
{
    struct gw_link *link = poll->data;
    if (status <
        0) { /* an error of the socket: reading returns it after the data that came before it */
        link->events = 0;         /* libuv has stopped the poll */
        link->write_ended = true; /* the other side does not read what is sent, either */
        deliver(link);
        if (link->lent) /* the thread that reads finds the error, or the loop does after
                           gw_link_resume */
            link->write_full = false;
        else if (!link->closing &&
                 link->paused) /* do not wait for a send, which may never happen */
            fail_by_socket(link);
        watch(link);
        return;
    }
    if (events & UV_WRITABLE) {
        link->write_full = false;
        later(link);
    }
    if (events & UV_READABLE)
        deliver(link);
    watch(link);
}

static void link_on_idle(uv_idle_t *idle)
{
    struct gw_link *link = idle->data;
    (void)uv_idle_stop(idle);
    if (link->input)
        deliver(link);
    if (!link->closing && !link->write_full && !link->write_ended)
        flush(link);
    watch(link);
}

/* Makes a link. Takes over the channel. */
static int link_new(uv_loop_t *loop, struct gw_channel *channel, bool over,
                    const struct gw_link_callbacks *callbacks, struct gw_link **link)
{
    struct gw_link *made = calloc(1, sizeof *made);
    if (!made || uv_poll_init(loop, &made->poll, gw_channel_fd(channel)) < 0) {
        int rc = made ? GW_EIO : GW_ENOMEM; /* not a socket, or already in a loop */
        gw_channel_free(channel);
        free(made);
        return rc;
    }
    made->callbacks = *callbacks;
    made->channel = channel;
    (void)uv_idle_init(loop, &made->idle);
    made->poll.data = made->idle.data = made;
    made->handles = 2;
    made->over = over;
    watch(made);
    *link = made;
    return 0;
}

int gw_link_open(uv_loop_t *loop, int fd, const struct gw_link_callbacks *callbacks,
                 struct gw_link **link)
{
    struct gw_channel *channel;
    int rc = gw_channel_new(fd, &channel);
    return rc < 0 ? rc : link_new(loop, channel, false, callbacks, link);
}

int gw_link_open_over(uv_loop_t *loop, struct gw_transport *transport,
                      const struct gw_link_callbacks *callbacks, struct gw_link **link)
{
    struct gw_channel *channel;
    int rc = gw_channel_new_over(transport, &channel);
    if (rc == 0)
        rc = link_new(loop, channel, true, callbacks, link);
    if (rc == 0)
        later(*link); /* the transport may have to send first */
    return rc;
}

/* Returns true if a message can still be sent. If not, closes the descriptors that the channel
 * would own. */
static bool takes(const struct gw_link *link, struct gw_channel_fds fds)
{
    if (!link->closing && !link->write_ended)
        return true;
    for (uint8_t i = 0; fds.take && i < fds.count; i++)
        (void)close(fds.fds[i]);
    return false;
}

int gw_link_send(struct gw_link *link, const struct gw_message *message, struct gw_channel_fds fds)
{
    if (!takes(link, fds))
        return 0;
    int rc = gw_channel_put(link->channel, message, fds);
    if (rc == 0 && !link->write_full)
        later(link);
    return rc;
}

int gw_link_hold(struct gw_link *link, const struct gw_message *message)
{
    const struct gw_channel_fds none = {0};
    return takes(link, none) ? gw_channel_put(link->channel, message, none) : 0;
}

void gw_link_urge(struct gw_link *link)
{
    if (!link->closing && !link->write_full && gw_channel_queued_bytes(link->channel) > 0)
        later(link);
}

static int send_frame(struct gw_link *link, struct gw_bin frame, struct gw_channel_fds fds)
{
    if (!takes(link, fds))
        return 0;
    int rc = gw_channel_put_frame(link->channel, frame, fds);
    if (rc == 0 && !link->write_full)
        later(link);
    return rc;
}

static int copy_fds(const int *fds, uint8_t count, int copies[GW_FRAME_FDS_MAX])
{
    for (uint8_t i = 0; i < count; i++) {
        copies[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
        if (copies[i] >= 0)
            continue;
        while (i-- > 0)
            close(copies[i]);
        return GW_ELIMIT;
    }
    return 0;
}

int gw_link_send_copies(struct gw_link *link, const struct gw_message *message, const int *fds,
                        uint8_t count)
{
    int copies[GW_FRAME_FDS_MAX];
    int rc = copy_fds(fds, count, copies);
    return rc < 0 ? rc : gw_link_send(link, message, (struct gw_channel_fds){copies, count, true});
}

int gw_link_send_frame_copies(struct gw_link *link, struct gw_bin frame, const int *fds,
                              uint8_t count)
{
    int copies[GW_FRAME_FDS_MAX];
    int rc = copy_fds(fds, count, copies);
    return rc < 0 ? rc : send_frame(link, frame, (struct gw_channel_fds){copies, count, true});
}

void gw_link_hand_over(struct gw_link *link, const struct gw_link_callbacks *callbacks)
{
    link->callbacks = *callbacks;
}

int gw_link_send_frames(struct gw_link *link, const void *frames, size_t bytes)
{
    if (link->closing || link->write_ended)
        return 0;
    int rc = gw_channel_put_frames(link->channel, frames, bytes);
    if (rc == 0 && !link->write_full)
        later(link);
    return rc;
}

void gw_link_close(struct gw_link *link)
{
    if (link->closing)
        return;
    while (!link->write_ended && gw_channel_flush(link->channel) == GW_EAGAIN &&
           gw_channel_turn_over(link->channel))
        ; /* Data that does not fit into the socket now is lost. */
    link_end(link);
}

void gw_link_set_brisk(struct gw_link *link)
{
    gw_channel_set_brisk(link->channel);
}

size_t gw_link_queued_bytes(const struct gw_link *link)
{
    return link->closing ? 0 : gw_channel_queued_bytes(link->channel);
}

int gw_link_fd(const struct gw_link *link)
{
    return gw_channel_fd(link->channel);
}

int gw_link_peer(const struct gw_link *link, struct ucred *peer)
{
    struct ucred found;
    socklen_t bytes = sizeof found;
    if (getsockopt(gw_channel_fd(link->channel), SOL_SOCKET, SO_PEERCRED, &found, &bytes) < 0)
        return GW_EIO;
    *peer = found;
    return 0;
}

void gw_link_pause(struct gw_link *link)
{
    link->paused = true;
    watch(link);
}

void gw_link_lend(struct gw_link *link)
{
    link->lent = true;
    gw_link_pause(link);
}

void gw_link_resume(struct gw_link *link)
{
    if (!link->paused)
        return;
    link->paused = link->lent = false;
    link->input = true; /* messages may have been buffered when the link was paused */
    if (!link->closing)
        later(link);
    watch(link);
}
