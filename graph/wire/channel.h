/* A channel: messages with descriptors over a stream socket, without an event loop.
 *
 * Sends gather in a buffer and leave with one sendmsg at gw_channel_flush; receives are decoded
 * from a buffer that one recvmsg fills. Works on blocking and non-blocking sockets: a non-blocking
 * one answers GW_EAGAIN. Not thread-safe. link.h puts one on a libuv loop. */
#ifndef GW_WIRE_CHANNEL_H
#define GW_WIRE_CHANNEL_H

#include "graph/wire/frame.h"
#include "graph/wire/message.h"
#include "graph/wire/transport.h"

#include <stdbool.h>

struct gw_channel;

/* gw_channel_new takes the socket, also when it fails; gw_channel_free closes it with all
 * descriptors not yet handed over or sent; accepts NULL. */
int gw_channel_new(int fd, struct gw_channel **channel);
void gw_channel_free(struct gw_channel *channel);
int gw_channel_fd(const struct gw_channel *channel); /* borrowed */

/* gw_channel_new_over makes a channel over a transport, which it takes, also when it fails. A
 * descriptor must be a memfd or another file then (else GW_ENOTSUP when it is put), and is received
 * as a sealed memfd of the same contents. Heartbeats pass there what was put before them: however
 * long that takes, they wait for a frame or 256 KiB of contents at most. 0, GW_ENOMEM or GW_EIO. */
int gw_channel_new_over(struct gw_transport *transport, struct gw_channel **channel);

/* gw_channel_put queues a message; descriptors are duplicated by the kernel when it is sent: `fds`
 * are taken and closed after sending (or at once, when this fails) where .take is set, else
 * borrowed until the flush has returned 0. 0, GW_ENOMEM, GW_ELIMIT (message too large; nothing
 * queued). */
struct gw_channel_fds {
    const int *fds;
    uint8_t count;
    bool take;
};
int gw_channel_put(struct gw_channel *channel, const struct gw_message *message,
                   struct gw_channel_fds fds);

/* gw_channel_put_frame queues a frame that was encoded already, with its descriptors, as
 * gw_channel_put does. */
int gw_channel_put_frame(struct gw_channel *channel, struct gw_bin frame,
                         struct gw_channel_fds fds);

/* gw_channel_put_frames queues frames that were encoded already and carry no descriptors. */
int gw_channel_put_frames(struct gw_channel *channel, const void *frames, size_t bytes);

/* gw_channel_keep_brisk has little wait between here and the other side, for channels with
 * heartbeats over a transport: those pass what was queued before, but not what was given to the
 * transport and the socket, which on a slow link is on its way for long. */
void gw_channel_keep_brisk(struct gw_channel *channel);

/* gw_channel_flush sends what is queued: 0 when all is sent, GW_EAGAIN when the socket is full or
 * (gw_channel_blocked is false) the other side must speak first, GW_ECLOSED when the other side is
 * gone (what it sent before can still be read), GW_EIO, or what the transport says. */
int gw_channel_flush(struct gw_channel *channel);
const char *gw_channel_failure(const struct gw_channel *channel); /* the last one's text */
size_t gw_channel_queued_bytes(const struct gw_channel *channel);
bool gw_channel_blocked(const struct gw_channel *channel);

/* gw_channel_turn_over is true where the last flush answered GW_EAGAIN though the socket may take
 * more: it had sent 4 MiB of contents, or the socket became writable again while it was at it.
 * Others have their turn, then it is to be called again: nothing else will tell. */
bool gw_channel_turn_over(const struct gw_channel *channel);

/* gw_channel_pending is true where gw_channel_get with `wait` may give a message although the
 * socket does not become readable. */
bool gw_channel_pending(const struct gw_channel *channel);

/* gw_channel_get gives the next message. It and its strings, bins and columns are valid until the
 * next call. fds: room for GW_FRAME_FDS_MAX descriptors; they are the caller's then. 0; GW_EAGAIN
 * (non-blocking socket, no whole message yet); GW_ECLOSED; GW_EPROTO (garbage: close it);
 * GW_ENOMEM (a message is lost: close it). But for GW_EAGAIN, all later calls answer the same.
 * `wait` false: do not read from the socket, only what is buffered (then GW_EAGAIN). */
int gw_channel_get(struct gw_channel *channel, bool wait, struct gw_message *message, int *fds,
                   uint8_t *fd_count, struct gw_error *error);

#endif
