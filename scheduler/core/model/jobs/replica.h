/* Copies of results that are being made. */
#ifndef GW_SCHEDULER_CORE_JOBS_REPLICA_H
#define GW_SCHEDULER_CORE_JOBS_REPLICA_H

#include "scheduler/core/model/state.h"

/* A copy that is being made: on a holder that says `copying`. */
struct gw_replica {
    uint64_t number;  /* of this request to the worker */
    uint64_t pending; /* whose it is; it may be gone */
};

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

/* gw_sched_replica_gone forgets the copy that was to be made at a holder that goes; called by apply
 * functions. */
void gw_sched_replica_gone(struct gw_sched *sched, uint32_t holder);

/* gw_sched_replica_request_free accepts NULL. gw_sched_replicas_deinit frees what is left at the
 * end.
 */
void gw_sched_replica_request_free(struct gw_replication *replication);
void gw_sched_replicas_deinit(struct gw_sched *sched);

/* gw_sched_replica_at returns the copy that is being made at a holder; there must be one. */
struct gw_replica *gw_sched_replica_at(const struct gw_sched *sched, uint32_t holder);

/* gw_sched_replica_pending returns the pending request with this number; NULL: it is gone. */
struct gw_pending_request *gw_sched_replica_pending(const struct gw_sched *sched, uint64_t number);

#endif
