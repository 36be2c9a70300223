/* Replicas: clients ask that several workers hold a result; workers are told to fetch and keep it.
 */
#ifndef GW_SCHEDULER_CORE_REPLICA_H
#define GW_SCHEDULER_CORE_REPLICA_H

#include "scheduler/core/need.h"
#include "scheduler/core/state.h"

/* A worker that could not make a copy. */
struct gw_replica_trouble {
    uint32_t worker; /* id */
    uint32_t tries;
    int32_t code;
    char *text;
};

/* What a question of type GW_MESSAGE_replicate asks for. */
struct gw_replication {
    uint32_t copies;         /* 0: as many as there are workers */
    struct gw_need *workers; /* only these count; NULL: any */
    GW_ARRAY(struct gw_replica_trouble) troubles;
};

/* A copy that is being made: on a holder that says `copying`. */
struct gw_replica {
    uint64_t number;   /* of this request to the worker */
    uint64_t question; /* whose it is; it may be gone */
};

void gw_sched_on_replicate(struct gw_sched *sched, struct gw_remote *remote,
                           const struct gw_msg_replicate *replicate);

/* gw_sched_on_kept takes a worker's word that a copy is there, or why not. */
void gw_sched_on_kept(struct gw_sched *sched, struct gw_worker *worker,
                      const struct gw_msg_kept *kept);

/* gw_sched_replicate_try asks for what copies are missing, and answers when no more are to come:
 * true. */
bool gw_sched_replicate_try(struct gw_sched *sched, struct gw_remote *remote,
                            const struct gw_question *question);

/* gw_sched_replica_gone forgets the copy that was to be made at a holder that goes; called by apply
 * functions. */
void gw_sched_replica_gone(struct gw_sched *sched, uint32_t holder);

/* gw_sched_replication_free accepts NULL. gw_sched_replicas_deinit frees what is left at the end.
 */
void gw_sched_replication_free(struct gw_replication *replication);
void gw_sched_replicas_deinit(struct gw_sched *sched);

#endif
