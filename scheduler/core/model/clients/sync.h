/* State of semaphores, locks, events, variables and queues: contents, waiting requests and leases.
 */
#ifndef GW_SCHEDULER_CORE_CLIENTS_SYNC_H
#define GW_SCHEDULER_CORE_CLIENTS_SYNC_H

#include "scheduler/core/model/state.h"

enum {
    GW_SYNC_NAMES_MAX = 10000,     /* of one user */
    GW_SYNC_WAITERS_MAX = 65536,   /* of one object */
    GW_SYNC_COUNT_MAX = 1 << 20,   /* leases of a semaphore, or values of a queue */
    GW_SYNC_QUEUE_DEFAULT = 65536, /* values of a queue, if no limit was given */
    GW_SYNC_QUEUE_BYTES_MAX = 64 << 20,
    GW_SYNC_BYTES_MAX = 1 << 30, /* of all variables and queues */
};

/* A request that waits. If `put` is true, it waits for room in a queue, otherwise for a lease, a
 * value or an event. */
struct gw_sync_waiter {
    struct gw_sync *sync;
    struct gw_session *session;
    uint64_t request, number, deadline_ns; /* deadline UINT64_MAX: none */
    bool put;
    uint8_t *value; /* of a put; owned */
    uint32_t size;
    uint32_t heap_at; /* index in sched->sync_deadlines; GW_NO_INDEX: no deadline */
    struct gw_sync_waiter *prev, *next;
    struct gw_sync_waiter *session_prev, *session_next;
};

struct gw_sync_waiters {
    struct gw_sync_waiter *first, *last;
    uint32_t count;
};

/* The leases that a session holds of a semaphore or lock. */
struct gw_sync_lease {
    struct gw_sync *sync;
    struct gw_session *session;
    uint32_t count;
    uint64_t fence; /* of its latest lease */
    struct gw_sync_lease *prev, *next;
    struct gw_sync_lease *session_prev, *session_next;
};

struct gw_sync_item {
    uint8_t *data;
    uint32_t size;
};

struct gw_sync {
    uint32_t kind, uid; /* enum gw_sync_kind */
    char *name;         /* "17/inbox": belongs to job 17 */
    uint64_t job;       /* the job that it belongs to; 0: none */
    struct gw_sync *prev, *next;
    struct gw_sync_waiters waiters[2]; /* [1]: puts */

    uint32_t count; /* semaphore: leases; queue: maximum of values */
    uint32_t held;
    struct gw_sync_lease *leases;
    uint64_t fence;                      /* of the latest lease */
    bool set;                            /* event */
    bool closed;                         /* queue */
    uint64_t version;                    /* variable; 0: no value */
    struct gw_sync_item value;           /* variable */
    GW_ARRAY(struct gw_sync_item) items; /* queue: a ring */
    uint32_t first, filled;
    uint64_t bytes, waiting_bytes; /* of values in it; of values that wait to be put */
};

/* gw_sync_find returns an object by name, or NULL. gw_sync_lease_of returns the leases of a
 * session, or NULL. gw_sync_deinit frees all objects. */
struct gw_sync *gw_sync_find(const struct gw_sched *sched, uint32_t uid, uint32_t kind,
                             const char *name);
struct gw_sync_lease *gw_sync_lease_of(const struct gw_sync *sync,
                                       const struct gw_session *session);
void gw_sync_deinit(struct gw_sched *sched);

/* gw_sched_sync_wait puts a copy of `from` at the end of the queue of waiting requests. `value` is
 * the value that a put waits to store. */
void gw_sched_sync_wait(struct gw_sched *sched, const struct gw_sync_waiter *from,
                        struct gw_bin value);

/* These functions change an object of coordination. gw_sched_sync_open creates it and
 * gw_sched_sync_delete removes it. gw_sched_sync_leave removes a waiting request. The others change
 * leases, flags, values and queues. */
void gw_sched_sync_assign(struct gw_sched *sched, struct gw_sync *sync, struct gw_bin value);
void gw_sched_sync_close(struct gw_sync *sync);
void gw_sched_sync_delete(struct gw_sched *sched, struct gw_sync *sync);
void gw_sched_sync_flag(struct gw_sync *sync, bool set);
void gw_sched_sync_lease(struct gw_sched *sched, struct gw_sync *sync, struct gw_session *session,
                         uint64_t fence);
void gw_sched_sync_leave(struct gw_sched *sched, struct gw_sync_waiter *waiter);
void gw_sched_sync_open(struct gw_sched *sched, uint32_t uid, uint32_t kind, uint32_t count,
                        const char *name);
void gw_sched_sync_put(struct gw_sched *sched, struct gw_sync *sync, struct gw_bin value);
void gw_sched_sync_return(struct gw_sync *sync, struct gw_session *session, uint32_t count);
void gw_sched_sync_take(struct gw_sched *sched, struct gw_sync *sync, uint32_t count);

#endif
