/* The threads on which a daemon's loop has work done that waits for disks: libuv's pool.
 *
 * libuv makes them when the first work comes, and aborts where it cannot: a task that fills its
 * user's processes would then end the scheduler or the worker. So they are made at the start. */
#ifndef GW_WIRE_THREADS_H
#define GW_WIRE_THREADS_H

#include <gangway/error.h>
#include <uv.h>

/* gw_threads_try tells whether so many threads are to be had now: 0, or GW_ELIMIT with a text. None
 * of them is left. */
int gw_threads_try(struct gw_error *error);

/* gw_threads_start makes them; behind gw_threads_try, or the process may abort. The loop is to run
 * after it. Its thread. */
void gw_threads_start(uv_loop_t *loop);

#endif
