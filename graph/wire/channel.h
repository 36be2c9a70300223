/* A channel: messages with descriptors over a stream socket, without an event loop.
 *
 * Messages to send are collected in a buffer, which gw_channel_flush sends with one sendmsg.
 * Received messages are decoded from a buffer that one recvmsg fills. Blocking and non-blocking
 * sockets are possible; with a non-blocking socket, functions may return GW_EAGAIN. Not
 * thread-safe. link.h runs a channel on a libuv loop. */
#ifndef GW_WIRE_CHANNEL_H
#define GW_WIRE_CHANNEL_H

#include "graph/wire/frame.h"
#include "graph/wire/message.h"
#include "graph/wire/transport.h"

#include <stdbool.h>

struct gw_channel;

/* gw_channel_new takes over the socket, also if it fails. gw_channel_free closes the socket, the
 * descriptors that were not sent, and those that were not yet given to the caller. It accepts NULL.
 */
int gw_channel_new(int fd, struct gw_channel **channel);
void gw_channel_free(struct gw_channel *channel);
int gw_channel_fd(const struct gw_channel *channel); /* borrowed */

/* gw_channel_new_over makes a channel over a transport, which it takes over, also if it fails. On
 * such a channel only memfds and other files can be sent as descriptors (else gw_channel_put
 * returns GW_ENOTSUP). The receiver gets a sealed memfd with the same content. Heartbeats overtake
 * other queued messages: they wait for at most one frame or 256 KiB of content. Returns 0,
 * GW_ENOMEM or GW_EIO. */
int gw_channel_new_over(struct gw_transport *transport, struct gw_channel **channel);

/* gw_channel_put queues a message. The kernel duplicates the descriptors when the message is sent.
 * If .take is set, the channel owns the descriptors and closes them after sending, or immediately
 * if the call fails. Otherwise they are borrowed until a flush has returned 0. Returns 0,
 * GW_ENOMEM, or GW_ELIMIT if the message is too large (nothing is queued). */
struct gw_channel_fds {
    const int *fds;
    uint8_t count;
    bool take;
};
int gw_channel_put(struct gw_channel *channel, const struct gw_message *message,
                   struct gw_channel_fds fds);

/* gw_channel_put_frame queues a frame that is already encoded, with its descriptors, like
 * gw_channel_put. */
int gw_channel_put_frame(struct gw_channel *channel, struct gw_bin frame,
                         struct gw_channel_fds fds);

/* gw_channel_put_frames queues encoded frames without descriptors. */
int gw_channel_put_frames(struct gw_channel *channel, const void *frames, size_t bytes);

/* gw_channel_set_brisk keeps little data in the transport and in the socket buffer. Use it for
 * channels over a transport that send heartbeats: a heartbeat overtakes messages in the channel's
 * queue, but not data in the transport or the socket. On a slow network, such data would delay it
 * for long. */
void gw_channel_set_brisk(struct gw_channel *channel);

/* gw_channel_flush sends the queued messages. It returns 0 if all are sent; GW_EAGAIN if the socket
 * is full or, if gw_channel_blocked returns false, the other side must send first; GW_ECLOSED if
 * the other side has closed the connection (messages that it sent before can still be read); GW_EIO
 * or an error of the transport. */
int gw_channel_flush(struct gw_channel *channel);
const char *gw_channel_failure(const struct gw_channel *channel); /* text of the last error */
size_t gw_channel_queued_bytes(const struct gw_channel *channel);
bool gw_channel_blocked(const struct gw_channel *channel);

/* gw_channel_turn_over returns true if the last flush returned GW_EAGAIN although the socket may
 * accept more: it has sent 4 MiB of content, or the socket became writable during the flush. The
 * caller should let other connections run and then call gw_channel_flush again, because no event
 * will report this. */
bool gw_channel_turn_over(const struct gw_channel *channel);

/* gw_channel_pending returns true if gw_channel_get with `wait` may return a message although the
 * socket does not become readable. */
bool gw_channel_pending(const struct gw_channel *channel);

/* gw_channel_get returns the next message. The message and its strings, bins and columns are valid
 * until the next call. `fds` has room for GW_FRAME_FDS_MAX descriptors, which the caller then owns.
 * Returns 0; GW_EAGAIN (non-blocking socket, no complete message yet); GW_ECLOSED; GW_EPROTO
 * (invalid data: close the channel); GW_ENOMEM (a message was lost: close the channel). After any
 * error other than GW_EAGAIN, later calls return the same error. If `wait` is false, the function
 * does not read from the socket but only from the buffer. */
int gw_channel_get(struct gw_channel *channel, bool wait, struct gw_message *message, int *fds,
                   uint8_t *fd_count, struct gw_error *error);

#endif
