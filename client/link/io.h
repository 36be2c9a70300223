/* The client's input and output: one thread with a libuv loop and the link to the scheduler.
 *
 * Other threads put messages into the outbox. What is little, with nothing before it, leaves from
 * there at once; otherwise the loop thread is woken when the outbox was empty, and takes all that
 * has gathered meanwhile. Messages leave in the order in which they were put; the envelope (term,
 * session, sequence) is written here. */
#ifndef GW_CLIENT_IO_H
#define GW_CLIENT_IO_H

#include "client/link/reader_handoff.h"
#include "graph/wire/link.h"

struct gw_io;

struct gw_io_callbacks {
    /* On the loop thread, or on one that waits in gw_reader_handoff_wait; one at a time, in order,
     * without a lock of gw_io. Descriptors are the callee's. */
    void (*on_message)(const struct gw_message *message, const int *fds, uint8_t fd_count,
                       void *arg);
    /* The connection is down, once; no message comes after it. */
    void (*on_close)(const struct gw_error *error, void *arg);
    /* It was woken, and looks at the outbox next: the last moment to put something there. */
    void (*on_wake)(void *arg);
    void *arg;
    struct gw_reader_handoff *turn; /* to read; outlives who waits */
};

/* What a client speaks over: a connected unix socket, or a transport (then fd is unused). */
struct gw_io_socket {
    int fd;
    struct gw_transport *transport;
};

/* gw_io_open takes what it speaks over, also when it fails, and starts the thread. 0, GW_ENOMEM or
 * GW_EIO with text. */
int gw_io_open(const struct gw_io_socket *socket, const struct gw_io_callbacks *callbacks,
               struct gw_io **io, struct gw_error *error);

/* gw_io_reopen goes on over another connection (taken, also when it fails) after on_close was
 * called: what was queued for the last one is dropped, the envelope is empty again, on_close may
 * come again. Never on the loop thread. */
void gw_io_reopen(struct gw_io *io, const struct gw_io_socket *socket);

/* gw_io_life counts the connections: 1 is the first; 0: it is down. Any thread. */
uint32_t gw_io_life(struct gw_io *io);

/* gw_io_close closes the connection (what is queued still leaves, as far as the socket takes it),
 * joins the thread and frees. Never on the loop thread. */
void gw_io_close(struct gw_io *io);

/* gw_io_envelope sets term and session of later messages. */
void gw_io_envelope(struct gw_io *io, uint64_t term, uint64_t peer);

/* gw_io_put queues a message with a descriptor (taken, also on failure) or -1. A message with a
 * descriptor keeps its pointers (they must stay valid until it has left: static storage or the
 * client's; a blob's hash is copied); others are encoded at once. Any thread; does not block. 0,
 * GW_ENOMEM, GW_ELIMIT, GW_ECLOSED. */
int gw_io_put(struct gw_io *io, const struct gw_message *message, int fd);

/* gw_io_put_more is gw_io_put without a descriptor, for what another put follows at once: both
 * leave together. */
int gw_io_put_more(struct gw_io *io, const struct gw_message *message);

/* gw_io_put_in is gw_io_put for what only makes sense on one connection: GW_ECLOSED on any other.
 * more: as gw_io_put_more. */
struct gw_io_manner {
    uint32_t life; /* 0: any */
    bool more;
};
int gw_io_put_in(struct gw_io *io, struct gw_io_manner manner, const struct gw_message *message,
                 int fd);

/* gw_io_wake has on_wake called soon. Any thread. */
void gw_io_wake(struct gw_io *io);

/* gw_io_room blocks while more than a few MiB are queued. 0, or GW_ECLOSED. Never on the loop
 * thread. */
int gw_io_room(struct gw_io *io);

/* gw_io_release queues that a future was given up; many leave together, a few milliseconds later:
 * nobody waits for it, and a wake-up for each of a million would cost more than the tasks. A lookup
 * or a query that is put meanwhile takes them along before itself: else a loop of lookup and
 * release would hold the result forever. */
int gw_io_release(struct gw_io *io, uint64_t job, uint32_t index);

/* gw_io_drop queues in the same way that what a lookup holds was given up. */
int gw_io_drop(struct gw_io *io, uint64_t request);

/* gw_io_peer_pid is the scheduler's process. */
pid_t gw_io_peer_pid(struct gw_io *io);

#endif
