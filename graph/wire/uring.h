/* A ring (ring.h) by io_uring: one system call sends what a turn has to send, waits, and has
 * received what comes from where it is expected. By epoll these are three.
 *
 * libuv stays in charge: the ring watches its backend descriptor and its next timer, and runs it
 * for all that came otherwise than expected. Handles of type prepare and check are not called in
 * turns in which libuv has nothing to do. */
#ifndef GW_WIRE_URING_H
#define GW_WIRE_URING_H

#include <gangway/error.h>
#include <uv.h>

/* gw_uring_open has links that this thread opens on the loop from now on use a ring; one a thread.
 * GW_ENOTSUP with a text where this is not to be had: built without liburing, a kernel before 6.1,
 * a container that forbids it. */
int gw_uring_open(uv_loop_t *loop, struct gw_error *error);

/* gw_uring_run is uv_run, also for a loop without a ring: links with one want it. */
int gw_uring_run(uv_loop_t *loop, uv_run_mode mode);

/* gw_uring_close gives the ring of this thread's loop back, when all links are closed. Nothing
 * where there is none. */
void gw_uring_close(uv_loop_t *loop);

#endif
