/* Replicas of results that are being made. */
#ifndef GW_SCHEDULER_CORE_JOBS_REPLICA_H
#define GW_SCHEDULER_CORE_JOBS_REPLICA_H

#include "scheduler/core/model/state.h"

/* A replica that is being made. Its holder has the flag `copying`. */
struct gw_replica {
    uint64_t number;  /* number of the request to the worker */
    uint64_t pending; /* pending request that caused it; may be gone */
};

/* A worker that failed to make a replica. */
struct gw_replica_trouble {
    uint32_t worker; /* worker id */
    uint32_t tries;
    int32_t code;
    char *text;
};

/* A client's request of type GW_MESSAGE_replicate. */
struct gw_replication {
    uint32_t copies;         /* 0: on all workers */
    struct gw_need *workers; /* only these workers count; NULL: all */
    GW_ARRAY(struct gw_replica_trouble) troubles;
};

/* gw_sched_replica_gone removes the replica of a holder that is removed. Only for use in model/. */
void gw_sched_replica_gone(struct gw_sched *sched, uint32_t holder);

/* gw_sched_replica_request_free frees a request. It accepts NULL. gw_sched_replicas_deinit frees
 * the table at the end. */
void gw_sched_replica_request_free(struct gw_replication *replication);
void gw_sched_replicas_deinit(struct gw_sched *sched);

/* gw_sched_replica_at returns the replica that is being made at a holder. There must be one. */
struct gw_replica *gw_sched_replica_at(const struct gw_sched *sched, uint32_t holder);

/* gw_sched_replica_pending returns the pending request with this number, or NULL if it is gone. */
struct gw_pending_request *gw_sched_replica_pending(const struct gw_sched *sched, uint64_t number);

#endif
