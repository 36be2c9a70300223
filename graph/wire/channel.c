/* A channel: collects frames for one sendmsg, and divides received bytes into frames.
 *
 * The descriptors of a frame are sent with its first byte, so a sendmsg with descriptors starts
 * exactly at that byte. A recvmsg may return the data of several sends, but the kernel ends it
 * after the first send with descriptors. So a read may return descriptors before their frame is
 * complete, but never the descriptors of two frames. `in_fds` holds them in order until their frame
 * is complete. At any time each descriptor is in in_fds, in a mark that owns it, or belongs to the
 * caller. All descriptors that the channel still has are closed with it.
 *
 * A transport carries no descriptors. The contents of a frame's descriptors are sent after the
 * frame in pieces, one descriptor after another. The receiver delivers the frame when all contents
 * have arrived. Between two pieces, and between two frames, heartbeats overtake the other queued
 * messages. */
#include "graph/wire/channel.h"

#include "graph/base/array.h"
#include "graph/wire/content.h"
#include "graph/wire/frame.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    IN_BYTES_MIN = 1 << 16,
    IN_BYTES_OVER = 1 << 18,     /* over a transport, which reads contents into this buffer */
    TURN_BYTES = 4 << 20,        /* bytes of contents to send before other channels get a turn */
    BRISK_BYTES = 16 << 10,      /* a brisk channel: bytes given to the transport at a time, ... */
    BRISK_UNSENT = 32 << 10,     /* ... and unsent bytes that its socket may hold */
    IN_BYTES_RETAINED = 1 << 18, /* a larger receive buffer is freed after this many reads ... */
    IN_READS_SMALL = 64,         /* ... in a row that used at most a quarter of it */
    IN_BYTES_MAX = GW_FRAME_HEADER_BYTES + GW_FRAME_BULK_BYTES_MAX,
    IN_FDS_MAX = 2 * GW_FRAME_FDS_MAX, /* descriptors of an incomplete frame and of the next one */
    OUT_BYTES_RETAINED = 1 << 20,      /* a larger send buffer is freed when it is empty */
};

/* A frame with descriptors that is not completely sent. */
struct mark {
    size_t at; /* offset of its first byte in `out` */
    uint8_t count;
    bool take, hashed;
    int fds[GW_FRAME_FDS_MAX];
};

/* A received frame whose descriptors' contents have not all arrived. */
struct held {
    uint8_t *payload; /* NULL: no frame */
    struct gw_frame_header header;
    uint32_t piece_left; /* bytes of the current piece that have not arrived */
    bool given;          /* delivered by the last gw_channel_get */
};

struct gw_channel {
    int fd;
    struct gw_transport *transport; /* NULL: a plain socket */
    struct gw_content sending, receiving;
    uint8_t contents_sent;   /* descriptors of the current mark whose contents were sent */
    struct held held;        /* used over a transport */
    struct gw_error failure; /* error of the last flush */
    bool brisk;
    bool turn_over; /* the last flush stopped although more could be sent at once */
    struct gw_buffer out;
    size_t sent;             /* bytes of out that were sent */
    size_t frame_end;        /* end of a frame in out, at most of the one that contains `sent` */
    struct gw_buffer urgent; /* over a transport: frames that overtake those in out */
    size_t urgent_sent;
    GW_ARRAY(struct mark) marks;
    size_t marks_sent;

    uint8_t *in;
    size_t in_capacity, in_start, in_end;
    uint32_t in_reads_small;
    size_t given; /* size of the frame that the last get delivered */
    int in_fds[IN_FDS_MAX];
    uint32_t in_fd_count;
    struct gw_error ended; /* why reading has ended: invalid data, or a message was lost */
    struct gw_arena arena;
};

static size_t in_bytes_least(const struct gw_transport *transport)
{
    return transport ? IN_BYTES_OVER : IN_BYTES_MIN;
}

static int channel_new(int fd, struct gw_transport *transport, struct gw_channel **channel)
{
    struct gw_channel *made = calloc(1, sizeof *made);
    const size_t in_bytes = in_bytes_least(transport);
    uint8_t *in = malloc(in_bytes);
    if (!made || !in) {
        free(made);
        free(in);
        return GW_ENOMEM;
    }
    made->fd = fd;
    made->transport = transport;
    made->in = in;
    made->in_capacity = in_bytes;
    *channel = made;
    return 0;
}

int gw_channel_new(int fd, struct gw_channel **channel)
{
    int rc = channel_new(fd, NULL, channel);
    if (rc < 0)
        (void)close(fd);
    return rc;
}

int gw_channel_new_over(struct gw_transport *transport, struct gw_channel **channel)
{
    int rc = channel_new(transport->fd, transport, channel);
    if (rc < 0)
        transport->free(transport);
    return rc;
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
}

void gw_channel_free(struct gw_channel *channel)
{
    if (!channel)
        return;
    for (size_t i = channel->marks_sent; i < channel->marks.count; i++)
        if (channel->marks.items[i].take)
            close_all(channel->marks.items[i].fds, channel->marks.items[i].count);
    close_all(channel->in_fds, channel->in_fd_count);
    gw_content_deinit(&channel->sending);
    gw_content_deinit(&channel->receiving);
    if (channel->transport)
        channel->transport->free(channel->transport);
    else
        (void)close(channel->fd);
    gw_array_deinit(&channel->marks);
    gw_buffer_deinit(&channel->out);
    gw_buffer_deinit(&channel->urgent);
    free(channel->held.payload);
    gw_arena_deinit(&channel->arena);
    free(channel->in);
    free(channel);
}

int gw_channel_fd(const struct gw_channel *channel)
{
    return channel->fd;
}

void gw_channel_set_brisk(struct gw_channel *channel)
{
    const int bytes = BRISK_UNSENT;
    if (!channel->transport)
        return;
    channel->brisk = true;
    (void)setsockopt(channel->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
}

/* -- Sending -- */

/* Checks that the descriptors can be sent, and reserves memory for a mark. */
static int prepare(struct gw_channel *channel, struct gw_channel_fds fds, struct mark *mark)
{
    int rc = 0;
    assert(fds.count <= GW_FRAME_FDS_MAX);
    *mark = (struct mark){.at = channel->out.size, .count = fds.count, .take = fds.take};
    for (uint8_t i = 0; i < fds.count && rc == 0 && channel->transport; i++)
        rc = gw_content_sendable(fds.fds[i]);
    if (rc == 0 && fds.count) {
        memcpy(mark->fds, fds.fds, fds.count * sizeof *fds.fds);
        rc = gw_array_reserve(&channel->marks, 1);
    }
    return rc;
}

/* Finishes a put: stores the mark, or closes the descriptors that the channel owns if the put
 * failed. */
static int conclude(struct gw_channel *channel, const struct mark *mark, struct gw_channel_fds fds,
                    int rc)
{
    if (rc == 0 && fds.count)
        (void)gw_array_push(&channel->marks, *mark); /* cannot fail: reserved before */
    if (rc < 0 && fds.take)
        close_all(fds.fds, fds.count);
    return rc;
}

int gw_channel_put(struct gw_channel *channel, const struct gw_message *message,
                   struct gw_channel_fds fds)
{
    struct mark mark;
    const bool is_urgent = channel->transport && message->type == GW_MESSAGE_heartbeat;
    assert(!(is_urgent && fds.count));
    int rc = prepare(channel, fds, &mark);
    mark.hashed = message->type == GW_MESSAGE_blob;
    if (rc == 0)
        rc = gw_message_encode(message, fds.count, is_urgent ? &channel->urgent : &channel->out);
    return conclude(channel, &mark, fds, rc);
}

int gw_channel_put_frame(struct gw_channel *channel, struct gw_bin frame, struct gw_channel_fds fds)
{
    struct mark mark;
    int rc = prepare(channel, fds, &mark);
    if (rc == 0)
        rc = gw_buffer_append(&channel->out, frame.data, frame.size);
    return conclude(channel, &mark, fds, rc);
}

int gw_channel_put_frames(struct gw_channel *channel, const void *frames, size_t bytes)
{
    return gw_buffer_append(&channel->out, frames, bytes);
}

size_t gw_channel_queued_bytes(const struct gw_channel *channel)
{
    return channel->out.size - channel->sent + channel->urgent.size - channel->urgent_sent;
}

/* One sendmsg, from `sent` up to the next mark. Returns 0 or an error code. */
static int send_some(struct gw_channel *channel)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * GW_FRAME_FDS_MAX)];
    } control;
    struct mark *mark = NULL;
    size_t next = channel->marks_sent;
    if (next < channel->marks.count && channel->marks.items[next].at == channel->sent)
        mark = &channel->marks.items[next++];
    size_t end = next < channel->marks.count ? channel->marks.items[next].at : channel->out.size;

    struct iovec piece = {channel->out.data + channel->sent, end - channel->sent};
    struct msghdr header = {.msg_iov = &piece, .msg_iovlen = 1};
    if (mark) {
        memset(&control, 0, sizeof control);
        header.msg_control = &control;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * mark->count);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * mark->count);
        memcpy(CMSG_DATA(rights), mark->fds, sizeof(int) * mark->count);
    }
    ssize_t wrote;
    do
        wrote = sendmsg(channel->fd, &header, MSG_NOSIGNAL);
    while (wrote < 0 && errno == EINTR);
    if (wrote < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return GW_EAGAIN;
    if (wrote < 0)
        return errno == EPIPE || errno == ECONNRESET ? GW_ECLOSED : GW_EIO;

    channel->sent += (size_t)wrote;
    if (mark) { /* all descriptors were sent with the first byte */
        if (mark->take)
            close_all(mark->fds, mark->count);
        channel->marks_sent++;
    }
    return 0;
}

/* Returns the size of the frame that starts here, including its header. */
static size_t frame_bytes(const uint8_t *frame)
{
    struct gw_frame_header header;
    int rc = gw_frame_header_read(frame, &header, NULL);
    assert(rc == 0); /* the channel encoded it itself */
    return GW_FRAME_HEADER_BYTES + header.bytes;
}

static int write_up_to(struct gw_channel *channel, const struct gw_buffer *from, size_t *sent,
                       size_t end)
{
    size_t wrote;
    int rc = channel->transport->write(channel->transport, from->data + *sent, end - *sent, &wrote,
                                       &channel->failure);
    if (rc == 0)
        *sent += wrote;
    return rc;
}

static uint32_t piece_bytes(const struct gw_channel *channel)
{
    return channel->brisk ? BRISK_BYTES : GW_FRAME_PIECE_BYTES_MAX;
}

/* Sends a piece of the contents that follow a frame. */
static int write_piece(struct gw_channel *channel, struct mark *mark)
{
    const struct gw_content_source source = {mark->fds[channel->contents_sent], mark->hashed,
                                             piece_bytes(channel)};
    int rc = gw_content_send(&channel->sending, source, channel->transport, &channel->failure);
    if (rc < 0 || channel->sending.active || ++channel->contents_sent < mark->count)
        return rc;
    if (mark->take)
        close_all(mark->fds, mark->count);
    channel->contents_sent = 0;
    channel->marks_sent++;
    return 0;
}

/* Sends heartbeats if a frame or a piece has just ended. Otherwise sends up to the end of the next
 * frame with descriptors, or a piece of the contents after it. */
static int write_some(struct gw_channel *channel)
{
    struct mark *mark = channel->marks_sent < channel->marks.count
                            ? &channel->marks.items[channel->marks_sent]
                            : NULL;
    size_t end = channel->out.size;
    if (mark)
        end = mark->at + frame_bytes(channel->out.data + mark->at);
    if (channel->urgent.size) {
        while (channel->frame_end < channel->sent)
            channel->frame_end += frame_bytes(channel->out.data + channel->frame_end);
        if (channel->frame_end == channel->sent && !gw_content_is_in_piece(&channel->sending))
            return write_up_to(channel, &channel->urgent, &channel->urgent_sent,
                               channel->urgent.size);
        if (channel->frame_end > channel->sent)
            end = channel->frame_end;
    }
    if (channel->sent < end) {
        if (channel->brisk && end - channel->sent > BRISK_BYTES)
            end = channel->sent + BRISK_BYTES;
        return write_up_to(channel, &channel->out, &channel->sent, end);
    }
    return write_piece(channel, mark);
}

static bool all_sent(const struct gw_channel *channel)
{
    return channel->sent == channel->out.size && channel->marks_sent == channel->marks.count &&
           channel->urgent_sent == channel->urgent.size;
}

/* Returns true if so many pieces of content were sent that other channels should get a turn. */
static bool is_turn_over(const struct gw_channel *channel, size_t pieces)
{
    return !all_sent(channel) && pieces * piece_bytes(channel) >= TURN_BYTES;
}

/* A brisk channel gives no more data to the transport until the transport has sent everything. */
static int urge(struct gw_channel *channel)
{
    return channel->brisk ? channel->transport->flush(channel->transport, &channel->failure) : 0;
}

static int send_over(struct gw_channel *channel)
{
    int rc = urge(channel);
    size_t pieces = 0;
    channel->turn_over = false;
    while (rc == 0 && !all_sent(channel) && !channel->turn_over) {
        const bool contents = channel->sending.active;
        rc = write_some(channel);
        pieces += contents;
        if (channel->urgent_sent == channel->urgent.size)
            channel->urgent_sent = channel->urgent.size = 0;
        if (rc == 0)
            rc = urge(channel);
        channel->turn_over = rc == 0 && is_turn_over(channel, pieces);
    }
    int flushed = rc == 0 || rc == GW_EAGAIN
                      ? channel->transport->flush(channel->transport, &channel->failure)
                      : rc;
    /* The socket may become writable between a `write` that failed and a `flush` that succeeded.
     * The transport is then empty, and no event reports that more can be sent. So report this by
     * turn_over. */
    channel->turn_over = flushed == 0 && (channel->turn_over || rc == GW_EAGAIN);
    return flushed < 0 ? flushed : channel->turn_over ? GW_EAGAIN : rc;
}

static int send_all(struct gw_channel *channel)
{
    int rc = 0;
    if (channel->transport)
        return send_over(channel);
    while (rc == 0 && channel->sent < channel->out.size)
        rc = send_some(channel);
    return rc < 0 && rc != GW_EAGAIN ? gw_error_set(&channel->failure, rc, "sendmsg failed") : rc;
}

const char *gw_channel_failure(const struct gw_channel *channel)
{
    return channel->failure.text;
}

bool gw_channel_blocked(const struct gw_channel *channel)
{
    return channel->transport ? channel->transport->blocked(channel->transport)
                              : gw_channel_queued_bytes(channel) > 0;
}

bool gw_channel_turn_over(const struct gw_channel *channel)
{
    return channel->turn_over;
}

bool gw_channel_pending(const struct gw_channel *channel)
{
    return channel->transport && channel->transport->pending(channel->transport);
}

int gw_channel_flush(struct gw_channel *channel)
{
    int rc = send_all(channel);
    if (rc < 0 && !all_sent(channel))
        return rc;
    channel->sent = channel->frame_end = channel->out.size = 0;
    channel->marks_sent = 0;
    gw_array_clear(&channel->marks);
    if (channel->out.capacity > OUT_BYTES_RETAINED)
        gw_buffer_deinit(&channel->out);
    return rc;
}

/* -- Receiving -- */

/* Called when the receive buffer is empty. Frees a buffer that is too large, because thousands of
 * peers may each have sent one large message. */
static void give_back(struct gw_channel *channel)
{
    if (channel->in_capacity <= IN_BYTES_RETAINED || channel->in_end > channel->in_capacity / 4) {
        channel->in_reads_small = 0;
        return;
    }
    if (++channel->in_reads_small < IN_READS_SMALL)
        return;
    channel->in_reads_small = 0;
    uint8_t *in = malloc(in_bytes_least(channel->transport));
    if (!in)
        return;
    free(channel->in);
    channel->in = in;
    channel->in_capacity = in_bytes_least(channel->transport);
}

/* Makes room after in_end. Moves the data to the front, and enlarges the buffer if one frame fills
 * it. */
static int make_room(struct gw_channel *channel)
{
    size_t bytes = channel->in_end - channel->in_start;
    if (bytes == 0 && channel->in_end)
        give_back(channel);
    if (channel->in_start && bytes)
        memmove(channel->in, channel->in + channel->in_start, bytes);
    channel->in_start = 0;
    channel->in_end = bytes;
    if (bytes < channel->in_capacity)
        return 0;
    size_t grown =
        channel->in_capacity * 2 < IN_BYTES_MAX ? channel->in_capacity * 2 : IN_BYTES_MAX;
    assert(grown > channel->in_capacity); /* a frame of IN_BYTES_MAX bytes is always complete */
    uint8_t *in = realloc(channel->in, grown);
    if (!in)
        return GW_ENOMEM;
    channel->in = in;
    channel->in_capacity = grown;
    return 0;
}

/* Stores all descriptors that a read returned. Returns false if there are too many. */
static bool take_rights(struct gw_channel *channel, struct msghdr *header)
{
    bool room = true;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (channel->in_fd_count < IN_FDS_MAX) {
                channel->in_fds[channel->in_fd_count++] = fd;
            } else {
                (void)close(fd);
                room = false;
            }
        }
    }
    return room;
}

/* One recvmsg. Returns 0 or an error code. */
static int receive_some(struct gw_channel *channel, struct gw_error *error)
{
    if (make_room(channel) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    if (channel->transport) {
        size_t bytes;
        int rc = channel->transport->read(channel->transport, channel->in + channel->in_end,
                                          channel->in_capacity - channel->in_end, &bytes, error);
        if (rc == 0)
            channel->in_end += bytes;
        return rc == GW_EAGAIN ? gw_error_set(error, rc, "no message yet") : rc;
    }
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * GW_FRAME_FDS_MAX)];
    } control;
    struct iovec room = {channel->in + channel->in_end, channel->in_capacity - channel->in_end};
    struct msghdr header = {.msg_iov = &room,
                            .msg_iovlen = 1,
                            .msg_control = &control,
                            .msg_controllen = sizeof control};
    ssize_t got;
    do
        got = recvmsg(channel->fd, &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return gw_error_set(error, GW_EAGAIN, "no message yet");
    if (got < 0 && errno != ECONNRESET)
        return gw_error_set(error, GW_EIO, "recvmsg: %s", strerror(errno));
    if (got <= 0)
        return gw_error_set(error, GW_ECLOSED, "connection closed by the other side");

    channel->in_end += (size_t)got;
    if (!take_rights(channel, &header))
        return gw_error_set(error, GW_EPROTO, "more descriptors than a frame may have");
    if (header.msg_flags & MSG_CTRUNC) /* `control` has room for the maximum of a frame */
        return gw_error_set(error, GW_EPROTO,
                            "descriptors were lost on their way: more than a frame may have, or "
                            "this process has as many as it may (ulimit -n)");
    return 0;
}

/* Returns the next complete frame, or the header of a piece. Returns 0, GW_EAGAIN, or another error
 * code. */
static int next_frame(struct gw_channel *channel, struct gw_frame_header *header,
                      struct gw_error *error)
{
    size_t bytes = channel->in_end - channel->in_start;
    if (bytes == 0 && channel->in_fd_count && !channel->transport)
        return gw_error_set(error, GW_EPROTO, "descriptors that belong to no frame");
    if (bytes < GW_FRAME_HEADER_BYTES)
        return gw_error_set(error, GW_EAGAIN, "no message yet");
    int rc = gw_frame_header_read(channel->in + channel->in_start, header, error);
    if (rc < 0)
        return rc;
    if (header->piece)
        return channel->held.payload
                   ? 0
                   : gw_error_set(error, GW_EPROTO, "contents that belong to no frame");
    if (!channel->transport && header->fds > channel->in_fd_count)
        return gw_error_set(error, GW_EPROTO, "a frame announced %d descriptors, %u came",
                            header->fds, channel->in_fd_count);
    if (bytes - GW_FRAME_HEADER_BYTES < header->bytes)
        return gw_error_set(error, GW_EAGAIN, "no message yet");
    return 0;
}

/* Reads the available bytes of a piece. */
static int take_piece(struct gw_channel *channel, struct gw_error *error)
{
    struct held *held = &channel->held;
    size_t bytes = channel->in_end - channel->in_start, used = 0;
    if (bytes == 0)
        return gw_error_set(error, GW_EAGAIN, "no message yet");
    if (bytes > held->piece_left)
        bytes = held->piece_left;
    int fd,
        rc = gw_content_receive(&channel->receiving,
                                (struct gw_bin){channel->in + channel->in_start, (uint32_t)bytes},
                                &used, &fd, error);
    if (rc == 0)
        channel->in_fds[channel->in_fd_count++] = fd;
    else if (rc != GW_EAGAIN)
        return rc;
    channel->in_start += used;
    held->piece_left -= (uint32_t)used;
    if (rc == 0 && held->piece_left)
        return gw_error_set(error, GW_EPROTO, "a piece of the contents of two descriptors");
    return 0;
}

/* Stores a frame until the contents of its descriptors have arrived. */
static int hold(struct gw_channel *channel, const struct gw_frame_header *header,
                struct gw_error *error)
{
    struct held *held = &channel->held;
    if (held->payload)
        return gw_error_set(error, GW_EPROTO,
                            "a frame with descriptors between the contents of another's");
    uint8_t *payload = malloc(header->bytes + 1);
    if (!payload)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    memcpy(payload, channel->in + channel->in_start + GW_FRAME_HEADER_BYTES, header->bytes);
    *held = (struct held){.payload = payload, .header = *header};
    channel->in_start += GW_FRAME_HEADER_BYTES + header->bytes;
    return 0;
}

/* Finds the next frame to deliver: the stored frame if all its contents have arrived, or the next
 * frame in `in`. Returns 0, GW_EAGAIN, or another error code. */
static int next_whole(struct gw_channel *channel, const uint8_t **payload,
                      struct gw_frame_header *header, struct gw_error *error)
{
    struct held *held = &channel->held;
    for (;;) {
        int rc;
        if (held->piece_left) {
            rc = take_piece(channel, error);
        } else if (held->payload && channel->in_fd_count == held->header.fds) {
            *payload = held->payload;
            *header = held->header;
            held->given = true;
            return 0;
        } else if ((rc = next_frame(channel, header, error)) == 0) {
            if (header->piece) {
                held->piece_left = header->bytes;
                channel->in_start += GW_FRAME_HEADER_BYTES;
            } else if (channel->transport && header->fds) {
                rc = hold(channel, header, error);
            } else {
                *payload = channel->in + channel->in_start + GW_FRAME_HEADER_BYTES;
                channel->given = GW_FRAME_HEADER_BYTES + header->bytes;
                return 0;
            }
        }
        if (rc < 0)
            return rc;
    }
}

/* Frees the message that the last get returned. */
static void drop_given(struct gw_channel *channel)
{
    channel->in_start += channel->given;
    channel->given = 0;
    if (channel->held.given) {
        free(channel->held.payload);
        channel->held = (struct held){0};
    }
    gw_arena_reset(&channel->arena);
}

int gw_channel_get(struct gw_channel *channel, bool wait, struct gw_message *message, int *fds,
                   uint8_t *fd_count, struct gw_error *error)
{
    if (channel->ended.code)
        return gw_error_set(error, channel->ended.code, "%s", channel->ended.text);
    drop_given(channel);

    struct gw_frame_header header;
    const uint8_t *payload;
    size_t reads = 0;
    struct gw_error found;
    int rc;
    error = error ? error : &found;
    while ((rc = next_whole(channel, &payload, &header, error)) == GW_EAGAIN) {
        if (!wait || reads++ * IN_BYTES_OVER >= TURN_BYTES)
            return rc; /* the transport is still pending, so other channels get a turn */
        rc = receive_some(channel, error);
        if (rc < 0)
            break;
    }
    if (rc == 0)
        rc = gw_message_decode(payload, header.bytes, &channel->arena, message, error);
    if (rc < 0 &&
        rc != GW_EAGAIN) /* otherwise the next get would continue after the lost message */
        channel->ended = *error;
    if (rc < 0)
        return rc;

    channel->in_fd_count -= header.fds;
    memcpy(fds, channel->in_fds, header.fds * sizeof *fds);
    memmove(channel->in_fds, channel->in_fds + header.fds, channel->in_fd_count * sizeof *fds);
    *fd_count = header.fds;
    return 0;
}
