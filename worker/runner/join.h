/* A gang's communicator, from what the worker says at `gang_go`. */
#ifndef GW_RUNNER_JOIN_H
#define GW_RUNNER_JOIN_H

#include "graph/wire/message.h"

#include <gangway/comm.h>

/* The last gang_go: its descriptors and a copy of its info. */
struct gw_join {
    bool went;
    uint64_t attempt;
    int segment, listener; /* -1: none */
    int unreached;         /* the rank that could not be reached; -1: all were */
    uint8_t *info;
    uint32_t info_size;
    char note[GW_ERROR_TEXT_MAX + 128]; /* of rank 0, for its log; empty: nothing to say */
};

/* gw_join_init makes one that did not go. */
void gw_join_init(struct gw_join *join);

/* gw_join_go keeps what a gang_go brought: takes the descriptors. GW_ENOMEM. */
int gw_join_go(struct gw_join *join, const struct gw_msg_gang_go *go, const int *fds,
               uint8_t fd_count);

/* gw_join_open joins as `rank`, and clears: by the segment where all ranks share it, else also by
 * connections to the other workers' ranks, and by NCCL where the ranks have GPUs of their own.
 * GW_EPROTO with a text: the worker's go lacks something; else as gw_comm_open_host and
 * gw_comm_open_hosts. */
int gw_join_open(struct gw_join *join, const struct gw_msg_gang *gang, uint32_t rank,
                 struct gw_comm **comm, struct gw_error *error);

/* gw_join_say writes to stderr, once, why the ranks have no NCCL though they have GPUs: when stderr
 * is the task's. */
void gw_join_say(struct gw_join *join);

#endif
