/* The loop thread: it moves messages from the outbox to the link, and from the link to the
 * callbacks.
 *
 * Invariants: `lock` guards the outbox, the releases, `down` and `idle`. Once the loop thread runs,
 * only that thread uses libuv, except for uv_async_send. Only one thread at a time delivers
 * messages: see reader_handoff.h.
 *
 * While `idle` is set, no message waits for the socket. A short message is then sent directly by
 * the thread that puts it, so that the loop thread need not be woken. */
#include "client/link/io.h"

#include "client/link/received.h"
#include "graph/base/array.h"
#include "graph/base/thread.h"
#include "graph/wire/enums.h"
#include "graph/wire/hash.h"
#include "graph/wire/timeouts.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    AT_ONCE_BYTES_MAX = 64 << 10,
    QUEUED_BYTES_MAX = 4 << 20, /* limit for the outbox, and again for the link */
    FRAMES_BYTES = 256 << 10,   /* messages gather in one buffer up to this size */
    RELEASE_DELAY_MS = 5,
    TURN_MS = 10, /* the link is unread for at most twice this time */
    WATCH_MS = GW_HEARTBEAT_NS / GW_NS_PER_MS,
    SILENT_TICKS = GW_FENCE_NS / GW_HEARTBEAT_NS,
    RELEASE_ROWS = 16384, /* rows in one release message: 256 KiB */
};

/* Several encoded messages, or (fd >= 0) one message with a descriptor. */
struct outgoing {
    struct gw_buffer frames;
    struct gw_message message;
    int fd;
    uint8_t hash[GW_HASH_BYTES]; /* hash of a blob message: a copy, because the request that
                                    contained it may be overwritten meanwhile */
};

struct outbox {
    GW_ARRAY(struct outgoing) list;
    size_t next; /* index of the first entry of `list` that was not passed to the connection yet */
};

struct gw_io {
    struct gw_io_callbacks callbacks;
    uv_loop_t loop;
    uv_async_t wake;
    uv_prepare_t prepare;
    uv_timer_t release_timer, turn_timer, watch_timer;
    uint64_t bytes_seen; /* bytes received on the connection before the last tick of watch_timer */
    uint32_t silent_ticks;  /* ticks in a row without a received byte */
    _Atomic bool delivered; /* a message was delivered since the loop thread last checked */
    struct gw_link *link;   /* NULL if the connection is down */
    bool link_closing;
    bool over; /* the link uses a transport (TLS), so only the loop thread may write */
    struct outbox leaving;
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t room;
    struct outbox outbox;
    size_t queued_bytes; /* bytes in `outbox` and `leaving` */
    bool woken, down, closing, releasing, idle;
    bool reopening; /* `next` is a new connection, not attached yet */
    struct gw_io_socket next;
    uint32_t life; /* number of the connection */
    pid_t peer_pid;
    uint64_t term, peer, sequence;
    GW_ARRAY(uint64_t) release_jobs;
    GW_ARRAY(uint32_t) release_indices;
    GW_ARRAY(uint64_t) drops;
};

static void outbox_clear(struct outbox *outbox)
{
    for (size_t i = outbox->next; i < outbox->list.count; i++) {
        gw_buffer_deinit(&outbox->list.items[i].frames);
        if (outbox->list.items[i].fd >= 0)
            close(outbox->list.items[i].fd);
    }
    gw_array_clear(&outbox->list);
    outbox->next = 0;
}

static void outbox_deinit(struct outbox *outbox)
{
    outbox_clear(outbox);
    gw_array_deinit(&outbox->list);
}

/* Appends a message to the outbox. The lock is held. */
static int outbox_put(struct gw_io *io, const struct gw_message *message, int fd)
{
    struct gw_message stamped = *message;
    stamped.term = io->term;
    stamped.peer = io->peer;
    stamped.sequence = ++io->sequence;

    struct outgoing *last =
        io->outbox.list.count ? &io->outbox.list.items[io->outbox.list.count - 1] : NULL;
    if (fd >= 0 || !last || last->fd >= 0 || last->frames.size > FRAMES_BYTES) {
        if (gw_array_push(&io->outbox.list, (struct outgoing){.fd = -1}) < 0)
            return GW_ENOMEM;
        last = &io->outbox.list.items[io->outbox.list.count - 1];
    }
    if (fd >= 0) {
        last->message = stamped;
        last->fd = fd;
        if (stamped.type == GW_MESSAGE_blob)
            memcpy(last->hash, stamped.blob.hash.data, GW_HASH_BYTES);
        return 0;
    }
    size_t before = last->frames.size;
    int rc = gw_message_encode(&stamped, 0, &last->frames);
    if (rc < 0)
        io->sequence--;
    else
        io->queued_bytes += last->frames.size - before;
    return rc;
}

/* Puts all gathered releases and drops into the outbox, in as few messages as possible. The lock is
 * held. */
static void put_releases(struct gw_io *io)
{
    size_t count = io->release_jobs.count;
    for (size_t at = 0; at < count; at += RELEASE_ROWS) {
        uint32_t rows = (uint32_t)(count - at < RELEASE_ROWS ? count - at : RELEASE_ROWS);
        uint32_t *ranks = malloc(rows * sizeof *ranks);
        if (!ranks)
            break; /* out of memory: the scheduler keeps these results until the session ends */
        memset(ranks, 0xff, rows * sizeof *ranks);
        struct gw_message message = {
            .type = GW_MESSAGE_release,
            .release = {.job = {io->release_jobs.items + at, rows},
                        .index = {io->release_indices.items + at, rows},
                        .rank = {ranks, rows}},
        };
        int rc = outbox_put(io, &message, -1);
        free(ranks);
        if (rc < 0)
            break;
    }
    gw_array_clear(&io->release_jobs);
    gw_array_clear(&io->release_indices);
    for (size_t at = 0; at < io->drops.count; at += RELEASE_ROWS) {
        size_t left = io->drops.count - at;
        uint32_t rows = (uint32_t)(left < RELEASE_ROWS ? left : RELEASE_ROWS);
        struct gw_message message = {.type = GW_MESSAGE_drop,
                                     .drop = {.request = {io->drops.items + at, rows}}};
        if (outbox_put(io, &message, -1) < 0)
            break;
    }
    gw_array_clear(&io->drops);
}

/* Gives queued messages to the link while the link has room. */
static void drain(struct gw_io *io)
{
    while (io->link) {
        if (io->leaving.next == io->leaving.list.count) {
            gw_array_clear(&io->leaving.list);
            io->leaving.next = 0;
            pthread_mutex_lock(&io->lock);
            struct outbox full = io->outbox;
            io->outbox = io->leaving;
            io->leaving = full;
            io->woken = false;
            io->idle = full.list.count == 0 && gw_link_queued_bytes(io->link) == 0;
            pthread_mutex_unlock(&io->lock);
            if (io->leaving.list.count == 0)
                return;
        }
        if (gw_link_queued_bytes(io->link) > QUEUED_BYTES_MAX)
            return; /* io_on_prepare continues when the socket has taken some bytes */

        struct outgoing *out = &io->leaving.list.items[io->leaving.next++];
        size_t bytes = out->frames.size;
        if (out->message.type == GW_MESSAGE_blob)
            out->message.blob.hash.data = out->hash;
        if (out->fd >= 0)
            gw_link_send(io->link, &out->message,
                         (struct gw_channel_fds){.fds = &out->fd, .count = 1, .take = true});
        else
            gw_link_send_frames(io->link, out->frames.data, bytes);
        gw_buffer_deinit(&out->frames);

        pthread_mutex_lock(&io->lock);
        io->queued_bytes -= bytes;
        if (io->queued_bytes <= QUEUED_BYTES_MAX)
            pthread_cond_broadcast(&io->room);
        pthread_mutex_unlock(&io->lock);
    }
}

static void io_on_release_timer(uv_timer_t *timer)
{
    struct gw_io *io = timer->data;
    pthread_mutex_lock(&io->lock);
    io->releasing = false;
    put_releases(io);
    pthread_mutex_unlock(&io->lock);
    drain(io);
}

/* -- Detecting a silent connection --------------------------------------------------------------
 *
 * Over TLS the scheduler sends heartbeats. A device between the client and the scheduler can
 * acknowledge TCP segments for ever without passing them on. Therefore the client gives up a
 * connection on which no byte arrives for as long as a worker would wait. The time is counted in
 * timer ticks of this process, so that time in which the process was stopped does not count as
 * silence. */

static void io_on_watch(uv_timer_t *timer)
{
    struct gw_io *io = timer->data;
    if (!io->link || io->link_closing)
        return;
    const uint64_t bytes = gw_received_bytes(gw_link_fd(io->link));
    const bool came = bytes != io->bytes_seen;
    io->bytes_seen = bytes;
    io->silent_ticks = came ? 0 : io->silent_ticks + 1;
    if (io->silent_ticks < SILENT_TICKS)
        return;
    uv_timer_stop(&io->watch_timer);
    gw_link_close(io->link);
}

/* Starts the watch at the first heartbeat. A unix socket has no heartbeats and no watch. */
static void begin_watch(struct gw_io *io)
{
    if (uv_is_active((uv_handle_t *)&io->watch_timer))
        return;
    io->silent_ticks = 0;
    io->bytes_seen = gw_received_bytes(gw_link_fd(io->link));
    (void)uv_timer_start(&io->watch_timer, io_on_watch, WATCH_MS, WATCH_MS);
}

static void io_on_message(struct gw_link *link, const struct gw_message *message, const int *fds,
                          uint8_t fd_count, void *arg)
{
    struct gw_io *io = arg;
    if (message->type == GW_MESSAGE_heartbeat && io->over) { /* a heartbeat has no descriptors */
        io->silent_ticks = 0; /* reset here too, because some kernels do not count received bytes */
        begin_watch(io);
        return;
    }
    atomic_store_explicit(&io->delivered, true, memory_order_relaxed);
    io->callbacks.on_message(message, fds, fd_count, io->callbacks.arg);
}

static void io_on_close(struct gw_link *link, const struct gw_error *error, void *arg)
{
    struct gw_io *io = arg;
    struct gw_error silent;
    if (io->silent_ticks >= SILENT_TICKS) {
        (void)gw_error_set(&silent, GW_ETIMEDOUT,
                           "no data arrived for %ds, although the scheduler's host or a device on "
                           "the way still acknowledges packets",
                           (int)SILENT_TICKS);
        error = &silent;
    }
    io->silent_ticks = 0;
    gw_reader_handoff_end(io->callbacks.turn);
    uv_timer_stop(&io->turn_timer);
    uv_timer_stop(&io->watch_timer);
    pthread_mutex_lock(&io->lock);
    io->link = NULL;
    io->down = true; /* set before the socket is closed: send_at_once relies on this */
    outbox_clear(&io->outbox);
    outbox_clear(&io->leaving);
    gw_array_clear(
        &io->release_jobs); /* otherwise the release timer would send them before the next hello */
    gw_array_clear(&io->release_indices);
    gw_array_clear(&io->drops);
    io->queued_bytes = 0;
    pthread_cond_broadcast(&io->room);
    bool closing = io->closing;
    pthread_mutex_unlock(&io->lock);
    io->callbacks.on_close(error, io->callbacks.arg);
    if (closing)
        uv_async_send(&io->wake);
}

/* Starts to use a connection: the first one, or a new one after the last connection has ended. */
static int attach(struct gw_io *io, const struct gw_io_socket *socket)
{
    const struct gw_link_callbacks callbacks = {io_on_message, io_on_close, io};
    struct ucred peer;
    int rc = socket->transport
                 ? gw_link_open_over(&io->loop, socket->transport, &callbacks, &io->link)
                 : gw_link_open(&io->loop, socket->fd, &callbacks, &io->link);
    pthread_mutex_lock(&io->lock);
    io->over = socket->transport != NULL;
    if (rc == 0 && io->over)
        gw_link_set_brisk(io->link);
    io->peer_pid = rc == 0 && !io->over && gw_link_peer(io->link, &peer) == 0 ? peer.pid : 0;
    pthread_mutex_unlock(&io->lock);
    return rc;
}

static void close_socket(const struct gw_io_socket *socket)
{
    if (socket->transport)
        socket->transport->free(socket->transport);
    else
        close(socket->fd);
}

/* Attaches the connection that gw_io_reopen has stored, if there is one. */
static void reattach(struct gw_io *io)
{
    pthread_mutex_lock(&io->lock);
    const struct gw_io_socket next = io->next;
    bool reopening = io->reopening, closing = io->closing;
    io->reopening = false;
    pthread_mutex_unlock(&io->lock);
    if (!reopening)
        return;
    if (closing) {
        close_socket(&next);
        return;
    }
    int rc = attach(io, &next);
    if (rc == 0)
        return;
    struct gw_error error;
    (void)gw_error_set(&error, rc, "cannot use the connection to the scheduler: %s",
                       gw_error_text(rc));
    pthread_mutex_lock(&io->lock);
    io->down = true;
    pthread_mutex_unlock(&io->lock);
    io->callbacks.on_close(&error, io->callbacks.arg);
}

/* -- Which thread reads -------------------------------------------------------------------------
 */

static void io_on_turn(uv_timer_t *timer);

static void look_at_turn(struct gw_io *io, bool timer)
{
    switch (gw_reader_handoff_look(io->callbacks.turn, timer)) {
    case GW_READER_HANDOFF_OURS:
    case GW_READER_HANDOFF_LEAVE:
        uv_timer_stop(&io->turn_timer);
        break;
    case GW_READER_HANDOFF_BACK:
        uv_timer_stop(&io->turn_timer);
        gw_link_resume(io->link);
        break;
    case GW_READER_HANDOFF_WATCH:
        if (!uv_is_active((uv_handle_t *)&io->turn_timer))
            (void)uv_timer_start(&io->turn_timer, io_on_turn, TURN_MS, TURN_MS);
        break;
    }
}

static void io_on_turn(uv_timer_t *timer)
{
    look_at_turn(timer->data, true);
}

/* Lends the link to a waiting thread. Called after the messages of this turn of the loop were
 * delivered. */
static void lend_turn(struct gw_io *io)
{
    if (!atomic_exchange_explicit(&io->delivered, false, memory_order_relaxed) || io->over ||
        !io->link || io->link_closing || !gw_reader_handoff_is_wanted(io->callbacks.turn))
        return;
    gw_link_lend(io->link); /* stop reading before another thread may read */
    if (gw_reader_handoff_lend(io->callbacks.turn, io->link))
        look_at_turn(io, false);
    else
        gw_link_resume(io->link);
}

/* -- The loop thread -----------------------------------------------------------------------------
 */

static void io_on_wake(uv_async_t *wake)
{
    struct gw_io *io = wake->data;
    reattach(io);
    look_at_turn(io, false);
    io->callbacks.on_wake(io->callbacks.arg);
    pthread_mutex_lock(&io->lock);
    bool closing = io->closing;
    if (closing)
        put_releases(io);
    bool arm = io->releasing && !closing && !uv_is_active((uv_handle_t *)&io->release_timer);
    pthread_mutex_unlock(&io->lock);

    drain(io);
    if (closing && io->link) {
        if (!io->link_closing)
            gw_link_close(io->link);
        io->link_closing = true;
    } else if (closing) {
        uv_close((uv_handle_t *)&io->wake, NULL);
        uv_close((uv_handle_t *)&io->prepare, NULL);
        uv_close((uv_handle_t *)&io->release_timer, NULL);
        uv_close((uv_handle_t *)&io->turn_timer, NULL);
        uv_close((uv_handle_t *)&io->watch_timer, NULL);
    } else if (arm) {
        uv_timer_start(&io->release_timer, io_on_release_timer, RELEASE_DELAY_MS, 0);
    }
}

/* Runs after the idle handles of this turn of the loop, in which the link flushes. */
static void io_on_prepare(uv_prepare_t *prepare)
{
    struct gw_io *io = prepare->data;
    drain(io);
    lend_turn(io);
}

static void *io_thread(void *arg)
{
    struct gw_io *io = arg;
    uv_run(&io->loop, UV_RUN_DEFAULT);
    return NULL;
}

static int start_thread(struct gw_io *io)
{
    int rc = gw_thread_start(&io->thread, io_thread, io);
    if (rc == 0)
        pthread_setname_np(io->thread, "gangway-io");
    return rc;
}

static void io_free(struct gw_io *io)
{
    outbox_deinit(&io->outbox);
    outbox_deinit(&io->leaving);
    gw_array_deinit(&io->release_jobs);
    gw_array_deinit(&io->release_indices);
    gw_array_deinit(&io->drops);
    pthread_cond_destroy(&io->room);
    pthread_mutex_destroy(&io->lock);
    free(io);
}

static void loop_init(struct gw_io *io)
{
    io->wake.data = io->prepare.data = io->release_timer.data = io->turn_timer.data = io;
    io->watch_timer.data = io;
    uv_async_init(&io->loop, &io->wake, io_on_wake);
    uv_prepare_init(&io->loop, &io->prepare);
    uv_prepare_start(&io->prepare, io_on_prepare);
    uv_timer_init(&io->loop, &io->release_timer);
    uv_timer_init(&io->loop, &io->turn_timer);
    uv_timer_init(&io->loop, &io->watch_timer);
    gw_reader_handoff_begin(io->callbacks.turn, &io->wake);
}

int gw_io_open(const struct gw_io_socket *socket, const struct gw_io_callbacks *callbacks,
               struct gw_io **out, struct gw_error *error)
{
    struct gw_io *io = calloc(1, sizeof *io);
    if (!io || uv_loop_init(&io->loop) != 0) {
        free(io);
        close_socket(socket);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    io->callbacks = *callbacks;
    pthread_mutex_init(&io->lock, NULL);
    pthread_cond_init(&io->room, NULL);
    loop_init(io);

    io->life = 1;
    int rc = attach(io, socket);
    if (rc == 0) {
        *out = io; /* set before the thread starts, because its callbacks may use it at once */
        rc = start_thread(io) == 0 ? 0 : GW_EIO;
        if (rc == 0)
            return 0;
        *out = NULL;
    }
    io->closing = true;
    gw_reader_handoff_begin(io->callbacks.turn, NULL);
    uv_async_send(&io->wake);
    uv_run(&io->loop, UV_RUN_DEFAULT);
    uv_loop_close(&io->loop);
    io_free(io);
    return gw_error_set(error, rc, "cannot start the client's thread: %s", gw_error_text(rc));
}

void gw_io_reopen(struct gw_io *io, const struct gw_io_socket *socket)
{
    pthread_mutex_lock(&io->lock);
    io->next = *socket;
    io->reopening = true;
    io->down = io->idle = io->woken = io->releasing = false;
    io->term = io->peer = io->sequence = 0;
    io->life++;
    gw_array_clear(&io->release_jobs);
    gw_array_clear(&io->release_indices);
    gw_array_clear(&io->drops);
    pthread_mutex_unlock(&io->lock);
    uv_async_send(&io->wake);
}

uint32_t gw_io_life(struct gw_io *io)
{
    pthread_mutex_lock(&io->lock);
    uint32_t life = io->down ? 0 : io->life;
    pthread_mutex_unlock(&io->lock);
    return life;
}

void gw_io_close(struct gw_io *io)
{
    if (!io)
        return;
    gw_reader_handoff_begin(io->callbacks.turn, NULL);
    pthread_mutex_lock(&io->lock);
    io->closing = true;
    pthread_mutex_unlock(&io->lock);
    uv_async_send(&io->wake);
    pthread_join(io->thread, NULL);
    int rc = uv_loop_close(&io->loop);
    if (rc != 0)
        abort(); /* a libuv handle of this file was left open */
    io_free(io);
}

void gw_io_envelope(struct gw_io *io, uint64_t term, uint64_t peer)
{
    pthread_mutex_lock(&io->lock);
    io->term = term;
    io->peer = peer;
    pthread_mutex_unlock(&io->lock);
}

/* Whether the message asks about results. Such a message must arrive after the releases that the
 * program made before it. */
static bool asks(const struct gw_message *message)
{
    return message->type == GW_MESSAGE_lookup || message->type == GW_MESSAGE_query;
}

/* Sends the outbox directly if no other message is before it. Returns false if the loop thread has
 * to send the rest. The lock is held, and the link is not down. */
static bool send_at_once(struct gw_io *io)
{
    struct outgoing *first = io->outbox.list.items;
    if (io->over || !io->idle || io->outbox.list.count != 1 || first->fd >= 0 ||
        first->frames.size > AT_ONCE_BYTES_MAX)
        return false;
    struct gw_buffer *frames = &first->frames;
    ssize_t sent =
        send(gw_link_fd(io->link), frames->data, frames->size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0) /* the socket is full or broken: the loop thread finds out which */
        return false;
    io->queued_bytes -= (size_t)sent;
    if ((size_t)sent < frames->size) {
        memmove(frames->data, frames->data + sent, frames->size - (size_t)sent);
        frames->size -= (size_t)sent;
        return false;
    }
    gw_buffer_deinit(frames);
    gw_array_clear(&io->outbox.list);
    return true;
}

int gw_io_put_in(struct gw_io *io, struct gw_io_manner manner, const struct gw_message *message,
                 int fd)
{
    if (!io) {
        if (fd >= 0)
            close(fd);
        return GW_ECLOSED;
    }
    pthread_mutex_lock(&io->lock);
    bool up = !io->down && !io->closing && (manner.life == 0 || manner.life == io->life);
    if (up && asks(message))
        put_releases(io);
    int rc = up ? outbox_put(io, message, fd) : GW_ECLOSED;
    bool wake = rc == 0 && !io->woken && !(manner.more && io->queued_bytes < FRAMES_BYTES) &&
                !send_at_once(io);
    if (wake)
        io->woken = true;
    pthread_mutex_unlock(&io->lock);
    if (rc < 0 && fd >= 0)
        close(fd);
    if (wake)
        uv_async_send(&io->wake);
    return rc;
}

int gw_io_put(struct gw_io *io, const struct gw_message *message, int fd)
{
    return gw_io_put_in(io, (struct gw_io_manner){0}, message, fd);
}

int gw_io_put_more(struct gw_io *io, const struct gw_message *message)
{
    return gw_io_put_in(io, (struct gw_io_manner){.more = true}, message, -1);
}

void gw_io_wake(struct gw_io *io)
{
    uv_async_send(&io->wake);
}

int gw_io_room(struct gw_io *io)
{
    if (!io)
        return GW_ECLOSED;
    pthread_mutex_lock(&io->lock);
    while (io->queued_bytes > QUEUED_BYTES_MAX && !io->down)
        pthread_cond_wait(&io->room, &io->lock);
    int rc = io->down ? GW_ECLOSED : 0;
    pthread_mutex_unlock(&io->lock);
    return rc;
}

/* Arranges that a queued release (rc 0) leaves some milliseconds later. Releases the lock. */
static void release_soon(struct gw_io *io, int rc)
{
    bool wake = rc == 0 && !io->releasing;
    if (wake)
        io->releasing = true;
    pthread_mutex_unlock(&io->lock);
    if (wake)
        uv_async_send(&io->wake);
}

int gw_io_release(struct gw_io *io, uint64_t job, uint32_t index)
{
    if (!io)
        return GW_ECLOSED;
    pthread_mutex_lock(&io->lock);
    int rc = io->down || io->closing ? GW_ECLOSED : 0;
    if (rc == 0)
        rc = gw_array_push(&io->release_jobs, job);
    if (rc == 0 && (rc = gw_array_push(&io->release_indices, index)) < 0)
        io->release_jobs.count--;
    release_soon(io, rc);
    return rc;
}

int gw_io_drop(struct gw_io *io, uint64_t request)
{
    pthread_mutex_lock(&io->lock);
    int rc = io->down || io->closing ? GW_ECLOSED : 0;
    if (rc == 0)
        rc = gw_array_push(&io->drops, request);
    release_soon(io, rc);
    return rc;
}

pid_t gw_io_peer_pid(struct gw_io *io)
{
    pthread_mutex_lock(&io->lock);
    pid_t pid = io->peer_pid;
    pthread_mutex_unlock(&io->lock);
    return pid;
}
