/* The threads on which a daemon's loop does blocking work, such as disk access: the thread pool of
 * libuv.
 *
 * libuv creates these threads at the first work, and aborts the process if it cannot. A task that
 * uses up its user's process limit would then end the scheduler or the worker. Therefore the
 * threads are created at the start. */
#ifndef GW_WIRE_THREADS_H
#define GW_WIRE_THREADS_H

#include <gangway/error.h>
#include <uv.h>

/* gw_threads_try checks whether the threads of the pool can be created now. Returns 0, or GW_ELIMIT
 * with a text. It leaves no thread behind. */
int gw_threads_try(struct gw_error *error);

/* gw_threads_start creates the threads. Call gw_threads_try before, because the process may abort
 * otherwise. Call it on the loop's thread, and run the loop after it. */
void gw_threads_start(uv_loop_t *loop);

#endif
