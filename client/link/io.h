/* The client's input and output: one thread with a libuv loop and the link to the scheduler.
 *
 * Other threads put messages into the outbox. A short message with no other message before it is
 * sent directly by the thread that puts it. Otherwise the first put wakes the loop thread, which
 * then sends all messages that have gathered meanwhile. Messages leave in the order in which they
 * were put. This file adds the envelope (term, session, sequence) to each message. */
#ifndef GW_CLIENT_IO_H
#define GW_CLIENT_IO_H

#include "client/link/reader_handoff.h"
#include "graph/wire/link.h"

struct gw_io;

struct gw_io_callbacks {
    /* Called for each message, by the loop thread or by a thread in gw_reader_handoff_wait.
     * Messages are delivered one at a time and in order. No lock of gw_io is held. The callee owns
     * the descriptors. */
    void (*on_message)(const struct gw_message *message, const int *fds, uint8_t fd_count,
                       void *arg);
    /* Called once when the connection has ended. No message of that connection follows. */
    void (*on_close)(const struct gw_error *error, void *arg);
    /* Called on the loop thread before it sends the outbox, so that the callee can add messages. */
    void (*on_wake)(void *arg);
    void *arg;
    struct gw_reader_handoff *turn; /* decides which thread reads */
};

/* A connection for a client: a connected unix socket, or a transport (then fd is unused). */
struct gw_io_socket {
    int fd;
    struct gw_transport *transport;
};

/* gw_io_open takes ownership of the socket, also if it fails, and starts the loop thread. Returns
 * 0, or GW_ENOMEM or GW_EIO with text. */
int gw_io_open(const struct gw_io_socket *socket, const struct gw_io_callbacks *callbacks,
               struct gw_io **io, struct gw_error *error);

/* gw_io_reopen continues over another connection after on_close was called. It takes ownership of
 * the socket, also if it fails. Messages that were queued for the last connection are dropped, and
 * the envelope is empty again. on_close may be called again. The loop thread must not call it. */
void gw_io_reopen(struct gw_io *io, const struct gw_io_socket *socket);

/* gw_io_life returns the number of the present connection, or 0 if it is down. The first connection
 * has number 1. Any thread may call it. */
uint32_t gw_io_life(struct gw_io *io);

/* gw_io_close closes the connection, joins the thread and frees everything. Queued messages are
 * still sent, as far as the socket takes them. The loop thread must not call it. */
void gw_io_close(struct gw_io *io);

/* gw_io_envelope sets the term and the session of all later messages. */
void gw_io_envelope(struct gw_io *io, uint64_t term, uint64_t peer);

/* gw_io_put queues a message. `fd` is a descriptor that goes with it (taken, also on failure), or
 * -1. A message without a descriptor is encoded at once. A message with a descriptor keeps its
 * pointers until it is sent, so they must point to static storage or to memory of the client; only
 * the hash of a blob is copied. Any thread may call it. It does not block. Returns 0, GW_ENOMEM,
 * GW_ELIMIT or GW_ECLOSED. Here and below, a client that is closed, or is the copy in the child of
 * a fork, has no io: NULL is GW_ECLOSED. */
int gw_io_put(struct gw_io *io, const struct gw_message *message, int fd);

/* gw_io_put_more is gw_io_put without a descriptor, for a message after which another put follows
 * at once. Both messages are sent together. */
int gw_io_put_more(struct gw_io *io, const struct gw_message *message);

/* gw_io_put_in is gw_io_put for a message that is valid only on one connection. Returns GW_ECLOSED
 * on any other connection. `more` has the meaning of gw_io_put_more. */
struct gw_io_manner {
    uint32_t life; /* number of the connection; 0: any */
    bool more;
};
int gw_io_put_in(struct gw_io *io, struct gw_io_manner manner, const struct gw_message *message,
                 int fd);

/* gw_io_wake makes the loop thread call on_wake soon. Any thread may call it. */
void gw_io_wake(struct gw_io *io);

/* gw_io_room blocks while more than a few MiB are queued. Returns 0 or GW_ECLOSED. The loop thread
 * must not call it. */
int gw_io_room(struct gw_io *io);

/* gw_io_release queues the release of a future. Many releases are sent together, a few milliseconds
 * later: no thread waits for a release, and one wake-up for each of a million futures would take
 * longer than the tasks. A lookup or query that is put meanwhile sends the queued releases first.
 * Otherwise a program that looks up and releases a result in a loop would hold the result for ever.
 */
int gw_io_release(struct gw_io *io, uint64_t job, uint32_t index);

/* gw_io_drop queues, in the same way, the release of a future that a lookup returned. */
int gw_io_drop(struct gw_io *io, uint64_t request);

/* gw_io_peer_pid returns the process id of the scheduler. */
pid_t gw_io_peer_pid(struct gw_io *io);

#endif
