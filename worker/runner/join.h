/* Joins a rank to its gang's communicator, with the data of the worker's `gang_start` message. */
#ifndef GW_RUNNER_JOIN_H
#define GW_RUNNER_JOIN_H

#include "graph/wire/message.h"

#include <gangway/comm.h>

/* The last gang_start message: its descriptors and a copy of its info. */
struct gw_join {
    bool went;
    uint64_t attempt;
    int segment, listener; /* -1: none */
    int unreached;         /* rank that could not be reached; -1: none */
    uint8_t *info;
    uint32_t info_size;
    char note[GW_ERROR_TEXT_MAX + 128]; /* text of rank 0 for its stderr; empty: none */
};

/* gw_join_init creates the state before any gang_start message. */
void gw_join_init(struct gw_join *join);

/* gw_join_go stores a gang_start message and takes over its descriptors. Returns GW_ENOMEM if out
 * of memory. */
int gw_join_go(struct gw_join *join, const struct gw_msg_gang_start *go, const int *fds,
               uint8_t fd_count);

/* gw_join_open joins the communicator as `rank` and clears the state. Ranks of one worker use the
 * shared memory segment. Ranks of several workers also use connections to the other workers' ranks.
 * If each rank has one GPU of its own, NCCL is used. Returns GW_EPROTO and sets the error if the
 * message lacks something, otherwise the errors of gw_comm_open_host and gw_comm_open_hosts. */
int gw_join_open(struct gw_join *join, const struct gw_msg_gang *gang, uint32_t rank,
                 struct gw_comm **comm, struct gw_error *error);

/* gw_join_gpu_count returns how many GPUs this process sees (CUDA_VISIBLE_DEVICES). */
uint32_t gw_join_gpu_count(void);

/* gw_join_device makes a host communicator of one rank one of NCCL on this process's first GPU. It
 * does nothing if the process has no whole GPU, or if NCCL is missing. */
void gw_join_device(struct gw_comm **comm);

/* gw_join_say writes once to stderr why the ranks do not use NCCL although they have GPUs. It must
 * be called when stderr is the task's own. */
void gw_join_say(struct gw_join *join);

#endif
