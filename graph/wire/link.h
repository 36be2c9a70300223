/* A link: a channel on a libuv loop. Callbacks run on the loop's thread, and never inside a call of
 * a gw_link function. All messages that are sent in one turn of the loop are written together at
 * its end. */
#ifndef GW_WIRE_LINK_H
#define GW_WIRE_LINK_H

#include "graph/wire/channel.h"

#include <sys/socket.h>
#include <uv.h>

struct gw_link;

struct gw_link_callbacks {
    /* A message has arrived. It is valid during the call. The callback owns the descriptors. It may
     * close the link. */
    void (*on_message)(struct gw_link *link, const struct gw_message *message, const int *fds,
                       uint8_t fd_count, void *arg);
    /* The link has ended: the other side closed it (GW_ECLOSED) or sent invalid data (GW_EPROTO,
     * with a text), or gw_link_close was called (0). Called exactly once. The link is freed after
     * the callback returns. */
    void (*on_close)(struct gw_link *link, const struct gw_error *error, void *arg);
    void *arg;
};

/* gw_link_open takes over a connected stream socket, also if it fails, and starts reading. Returns
 * 0, GW_ENOMEM or GW_EIO. */
int gw_link_open(uv_loop_t *loop, int fd, const struct gw_link_callbacks *callbacks,
                 struct gw_link **link);

/* gw_link_open_over does the same over a transport, which it takes over, also if it fails. */
int gw_link_open_over(uv_loop_t *loop, struct gw_transport *transport,
                      const struct gw_link_callbacks *callbacks, struct gw_link **link);

/* gw_link_set_brisk calls gw_channel_set_brisk for the link's channel. */
void gw_link_set_brisk(struct gw_link *link);

/* gw_link_send queues a message, like gw_channel_put. It is written at the end of the turn of the
 * loop. If the link is closing, the message is dropped, descriptors with .take are closed, and the
 * call returns 0. The queue is unlimited: the caller should check gw_link_queued_bytes. */
int gw_link_send(struct gw_link *link, const struct gw_message *message, struct gw_channel_fds fds);

/* gw_link_send_copies sends a message with duplicates of the descriptors. The descriptors
 * themselves are borrowed. gw_link_send_frame_copies does the same for an encoded frame. Both
 * return GW_ELIMIT if no descriptors are free. */
int gw_link_send_copies(struct gw_link *link, const struct gw_message *message, const int *fds,
                        uint8_t count);
int gw_link_send_frame_copies(struct gw_link *link, struct gw_bin frame, const int *fds,
                              uint8_t count);

/* gw_link_send_frames queues encoded frames without descriptors. */
int gw_link_send_frames(struct gw_link *link, const void *frames, size_t bytes);

/* gw_link_hold queues a message that is sent together with the next message, or after gw_link_urge.
 */
int gw_link_hold(struct gw_link *link, const struct gw_message *message);
void gw_link_urge(struct gw_link *link);

/* gw_link_close sends what the socket accepts immediately and closes the link. on_close follows in
 * a later turn of the loop. */
void gw_link_close(struct gw_link *link);

/* gw_link_hand_over replaces the callbacks for everything that arrives from now on. It may be
 * called inside on_message. */
void gw_link_hand_over(struct gw_link *link, const struct gw_link_callbacks *callbacks);

size_t gw_link_queued_bytes(const struct gw_link *link);
/* gw_link_fd returns the socket, which stays open until on_close has returned. A caller may write
 * to the socket directly only while the link has nothing queued. */
int gw_link_fd(const struct gw_link *link);
/* gw_link_peer returns the identity of the other side (SO_PEERCRED). */
int gw_link_peer(const struct gw_link *link, struct ucred *peer);

/* gw_link_read reads a link that was lent (gw_link_lend), on any one thread: it delivers the
 * buffered messages and those of one read. Returns 0, also if there was nothing to read. After an
 * error the connection must be closed; the loop finds the same error when the link is resumed.
 * Nobody else may read from the link at the same time. Sending continues as usual. */
int gw_link_read(struct gw_link *link, struct gw_error *error);

/* gw_link_lend pauses the link so that another thread can read it by gw_link_read until
 * gw_link_resume. An error of the socket ends the link only after gw_link_resume, after all
 * messages that arrived before it. Not possible over a transport. */
void gw_link_lend(struct gw_link *link);

/* gw_link_pause stops reading until gw_link_resume, to slow down the sender. No message is
 * delivered meanwhile, and a closed connection is noticed only when something is sent. */
void gw_link_pause(struct gw_link *link);
void gw_link_resume(struct gw_link *link);

#endif
