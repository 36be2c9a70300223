/* A link: a channel on a libuv loop. Callbacks run on the loop's thread, never inside a call of the
 * user's. What is sent in one turn of the loop leaves in one write at its end. */
#ifndef GW_WIRE_LINK_H
#define GW_WIRE_LINK_H

#include "graph/wire/channel.h"

#include <sys/socket.h>
#include <uv.h>

struct gw_link;

struct gw_link_callbacks {
    /* A message came: valid during the call; its descriptors are the callee's. The callee may close
     * the link inside. */
    void (*on_message)(struct gw_link *link, const struct gw_message *message, const int *fds,
                       uint8_t fd_count, void *arg);
    /* The link is down: the other side left (GW_ECLOSED) or sent garbage (GW_EPROTO, with text), or
     * gw_link_close was called (0). Called exactly once; the link is freed after it returns. */
    void (*on_close)(struct gw_link *link, const struct gw_error *error, void *arg);
    void *arg;
};

/* gw_link_open takes a connected stream socket, also when it fails, and starts reading. 0,
 * GW_ENOMEM, GW_EIO. */
int gw_link_open(uv_loop_t *loop, int fd, const struct gw_link_callbacks *callbacks,
                 struct gw_link **link);

/* gw_link_open_over does so over a transport, which it takes, also when it fails. */
int gw_link_open_over(uv_loop_t *loop, struct gw_transport *transport,
                      const struct gw_link_callbacks *callbacks, struct gw_link **link);

/* gw_link_keep_brisk is gw_channel_keep_brisk. */
void gw_link_keep_brisk(struct gw_link *link);

/* gw_link_send queues a message, as gw_channel_put does; it leaves at the end of the turn. Calling
 * it on a closing link drops the message (and closes taken descriptors) and returns 0. The queue
 * has no limit of its own: hold gw_link_queued_bytes against yours. */
int gw_link_send(struct gw_link *link, const struct gw_message *message, struct gw_channel_fds fds);

/* gw_link_send_copies, and gw_link_send_frame_copies for a frame that was encoded already, do so
 * with duplicates of the descriptors (borrowed), which close when they have left; GW_ELIMIT where
 * there are none to be had. */
int gw_link_send_copies(struct gw_link *link, const struct gw_message *message, const int *fds,
                        uint8_t count);
int gw_link_send_frame_copies(struct gw_link *link, struct gw_bin frame, const int *fds,
                              uint8_t count);

/* gw_link_send_frames queues encoded frames without descriptors. */
int gw_link_send_frames(struct gw_link *link, const void *frames, size_t bytes);

/* gw_link_hold queues a message that leaves with the next that is sent, or after gw_link_urge. */
int gw_link_hold(struct gw_link *link, const struct gw_message *message);
void gw_link_urge(struct gw_link *link);

/* gw_link_close flushes what the socket takes at once and closes; on_close follows in a later turn.
 */
void gw_link_close(struct gw_link *link);

/* gw_link_hand_over has others told of what comes from here on. Inside of on_message, too. */
void gw_link_hand_over(struct gw_link *link, const struct gw_link_callbacks *callbacks);

size_t gw_link_queued_bytes(const struct gw_link *link);
/* gw_link_fd is the socket, open until on_close has returned. Who sends there past the link does so
 * while it has nothing queued. */
int gw_link_fd(const struct gw_link *link);
/* gw_link_peer gives the other side's identity (SO_PEERCRED). */
int gw_link_peer(const struct gw_link *link, struct ucred *peer);

/* gw_link_read does for a link that was lent what the loop else does, on any one thread: delivers
 * what is buffered and what one read brings. 0, also where there was nothing; else the connection
 * is to be closed: the loop finds the same when it is resumed. Nobody else may read meanwhile;
 * sending goes on. */
int gw_link_read(struct gw_link *link, struct gw_error *error);

/* gw_link_lend pauses it, too, but somebody reads by gw_link_read until gw_link_resume: an error of
 * the socket ends it only then, behind all that came before. Not over a transport. */
void gw_link_lend(struct gw_link *link);

/* gw_link_pause stops reading until gw_link_resume: backpressure. No message is delivered
 * meanwhile, and that the other side left is noticed only by sending. */
void gw_link_pause(struct gw_link *link);
void gw_link_resume(struct gw_link *link);

#endif
