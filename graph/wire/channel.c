/* A channel: gathers frames for one sendmsg, cuts what recvmsg brings into frames.
 *
 * A frame's descriptors go with its first byte: a sendmsg that carries some starts exactly there. A
 * recvmsg may glue sends together, but the kernel ends it behind the first that carried
 * descriptors. So a read may bring descriptors before all of their frame, though never those of two
 * frames; `in_fds` holds them in order until their frame is whole. Every descriptor is at any
 * moment in in_fds, in a mark that owns it, or the caller's; whatever the channel still has is
 * closed with it. */
#include "graph/wire/channel.h"

#include "graph/base/array.h"
#include "graph/wire/frame.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    IN_BYTES_MIN = 1 << 16,
    IN_BYTES_MAX = GW_FRAME_HEADER_BYTES + GW_FRAME_BULK_BYTES_MAX,
    IN_FDS_MAX = 2 * GW_FRAME_FDS_MAX, /* of a frame that is not whole, and of the next */
    OUT_BYTES_KEPT = 1 << 20,          /* a larger buffer is given back when it is empty */
};

/* A frame with descriptors that is still to be sent. */
struct mark {
    size_t at; /* its first byte in `out` */
    uint8_t count;
    bool take;
    int fds[GW_FRAME_FDS_MAX];
};

struct gw_channel {
    int fd;
    struct gw_buffer out;
    size_t sent; /* bytes of out */
    GW_ARRAY(struct mark) marks;
    size_t marks_sent;

    uint8_t *in;
    size_t in_capacity, in_start, in_end;
    size_t given; /* bytes of the frame that the last get gave out */
    int in_fds[IN_FDS_MAX];
    uint32_t in_fd_count;
    int failed; /* garbage came: nothing more is read */
    struct gw_arena arena;
};

int gw_channel_new(int fd, struct gw_channel **channel)
{
    struct gw_channel *made = calloc(1, sizeof *made);
    uint8_t *in = malloc(IN_BYTES_MIN);
    if (!made || !in) {
        free(made);
        free(in);
        (void)close(fd);
        return GW_ENOMEM;
    }
    made->fd = fd;
    made->in = in;
    made->in_capacity = IN_BYTES_MIN;
    *channel = made;
    return 0;
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
    (void)close(channel->fd);
    gw_array_deinit(&channel->marks);
    gw_buffer_deinit(&channel->out);
    gw_arena_deinit(&channel->arena);
    free(channel->in);
    free(channel);
}

int gw_channel_fd(const struct gw_channel *channel)
{
    return channel->fd;
}

/* -- Sending -- */

int gw_channel_put(struct gw_channel *channel, const struct gw_message *message,
                   struct gw_channel_fds fds)
{
    struct mark mark = {.at = channel->out.size, .count = fds.count, .take = fds.take};
    assert(fds.count <= GW_FRAME_FDS_MAX);
    int rc = 0;
    if (fds.count) {
        memcpy(mark.fds, fds.fds, fds.count * sizeof *fds.fds);
        rc = gw_array_reserve(&channel->marks, 1);
    }
    if (rc == 0)
        rc = gw_message_encode(message, fds.count, &channel->out);
    if (rc < 0) {
        if (fds.take)
            close_all(fds.fds, fds.count);
        return rc;
    }
    if (fds.count)
        (void)gw_array_push(&channel->marks, mark); /* reserved above */
    return 0;
}

int gw_channel_put_frames(struct gw_channel *channel, const void *frames, size_t bytes)
{
    return gw_buffer_append(&channel->out, frames, bytes);
}

size_t gw_channel_queued_bytes(const struct gw_channel *channel)
{
    return channel->out.size - channel->sent;
}

/* One sendmsg from `sent` up to the next mark behind it. 0 or a negative code. */
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
    if (mark) { /* with the first byte all descriptors have gone */
        if (mark->take)
            close_all(mark->fds, mark->count);
        channel->marks_sent++;
    }
    return 0;
}

int gw_channel_flush(struct gw_channel *channel)
{
    while (channel->sent < channel->out.size) {
        int rc = send_some(channel);
        if (rc < 0)
            return rc;
    }
    channel->sent = channel->out.size = 0;
    channel->marks_sent = 0;
    gw_array_clear(&channel->marks);
    if (channel->out.capacity > OUT_BYTES_KEPT)
        gw_buffer_deinit(&channel->out);
    return 0;
}

/* -- Receiving -- */

/* Makes room behind in_end: moves what is there to the front, and grows the buffer when the frame
 * that has begun fills all of it. */
static int make_room(struct gw_channel *channel)
{
    size_t bytes = channel->in_end - channel->in_start;
    if (channel->in_start && bytes)
        memmove(channel->in, channel->in + channel->in_start, bytes);
    channel->in_start = 0;
    channel->in_end = bytes;
    if (bytes < channel->in_capacity)
        return 0;
    size_t grown =
        channel->in_capacity * 2 < IN_BYTES_MAX ? channel->in_capacity * 2 : IN_BYTES_MAX;
    assert(grown > channel->in_capacity); /* a frame that fills IN_BYTES_MAX is whole */
    uint8_t *in = realloc(channel->in, grown);
    if (!in)
        return GW_ENOMEM;
    channel->in = in;
    channel->in_capacity = grown;
    return 0;
}

/* Takes all descriptors that came with a read; false when there are more than may be. */
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

/* One recvmsg. 0 or a negative code. */
static int receive_some(struct gw_channel *channel, struct gw_error *error)
{
    if (make_room(channel) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
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
    if (!take_rights(channel, &header) || (header.msg_flags & MSG_CTRUNC))
        return gw_error_set(error, GW_EPROTO, "more descriptors than a frame may have");
    return 0;
}

/* Gives the next frame when all of it is there: 0, GW_EAGAIN, or another negative code. */
static int next_frame(struct gw_channel *channel, struct gw_frame_header *header,
                      struct gw_error *error)
{
    size_t bytes = channel->in_end - channel->in_start;
    if (bytes == 0 && channel->in_fd_count)
        return gw_error_set(error, GW_EPROTO, "descriptors that belong to no frame");
    if (bytes < GW_FRAME_HEADER_BYTES)
        return gw_error_set(error, GW_EAGAIN, "no message yet");
    int rc = gw_frame_header_read(channel->in + channel->in_start, header, error);
    if (rc < 0)
        return rc;
    if (header->fds > channel->in_fd_count)
        return gw_error_set(error, GW_EPROTO, "a frame announced %d descriptors, %u came",
                            header->fds, channel->in_fd_count);
    if (bytes - GW_FRAME_HEADER_BYTES < header->bytes)
        return gw_error_set(error, GW_EAGAIN, "no message yet");
    return 0;
}

int gw_channel_get(struct gw_channel *channel, bool wait, struct gw_message *message, int *fds,
                   uint8_t *fd_count, struct gw_error *error)
{
    if (channel->failed)
        return gw_error_set(error, channel->failed, "the connection carried garbage before");
    channel->in_start += channel->given;
    channel->given = 0;
    gw_arena_reset(&channel->arena);

    struct gw_frame_header header;
    int rc;
    while ((rc = next_frame(channel, &header, error)) == GW_EAGAIN) {
        if (!wait)
            return rc;
        rc = receive_some(channel, error);
        if (rc < 0)
            break;
    }
    if (rc == 0)
        rc = gw_message_decode(channel->in + channel->in_start + GW_FRAME_HEADER_BYTES,
                               header.bytes, &channel->arena, message, error);
    if (rc == GW_EPROTO)
        channel->failed = rc;
    if (rc < 0)
        return rc;

    channel->given = GW_FRAME_HEADER_BYTES + header.bytes;
    channel->in_fd_count -= header.fds;
    memcpy(fds, channel->in_fds, header.fds * sizeof *fds);
    memmove(channel->in_fds, channel->in_fds + header.fds, channel->in_fd_count * sizeof *fds);
    *fd_count = header.fds;
    return 0;
}
