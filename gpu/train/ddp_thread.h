/* A thread that reduces buckets while the thread of the rank goes on with the backward pass. */
#ifndef GW_GPU_DDP_THREAD_H
#define GW_GPU_DDP_THREAD_H

#include <gangway/comm.h>

struct gw_ddp_thread;

/* gw_ddp_thread_open starts a thread for at most `room` reductions a pass. From then on only this
 * thread runs operations of `comm`, which is borrowed. Returns NULL if out of memory or threads. */
struct gw_ddp_thread *gw_ddp_thread_open(struct gw_comm *comm, size_t room);

/* gw_ddp_thread_close ends the thread. If reductions are not done, it aborts `comm` first. NULL is
 * allowed. */
void gw_ddp_thread_close(struct gw_ddp_thread *self);

/* gw_ddp_thread_reduce starts an all-reduce after those that were started before. It copies args.
 * Returns the error of an earlier one that has failed. */
int gw_ddp_thread_reduce(struct gw_ddp_thread *self, const struct gw_comm_args *args,
                         struct gw_error *error);

/* gw_ddp_thread_wait returns when all reductions are done, with the first error. */
int gw_ddp_thread_wait(struct gw_ddp_thread *self, struct gw_error *error);

#endif
