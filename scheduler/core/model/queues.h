/* Resource classes, the ready queues of jobs, and the queues of workers. See state.h. */
#ifndef GW_SCHEDULER_CORE_MODEL_QUEUES_H
#define GW_SCHEDULER_CORE_MODEL_QUEUES_H

#include "graph/base/array.h"
#include "scheduler/core/model/bits.h"
#include "scheduler/core/model/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct gw_job;
struct gw_need;
struct gw_payer;
struct gw_submit_queue;
struct gw_worker;

struct gw_resource_class {
    uint32_t id, uid;      /* index into sched->shapes; the user if of_user is set */
    uint32_t ranks;        /* 0: an ordinary task */
    uint32_t slots, gpus;  /* of one rank; 0 slots: a task without a slot, or `calls` */
    bool calls;            /* calls of an actor, which use the resources of the actor */
    uint32_t gpu_fraction; /* thousandths of its one GPU; 0: whole GPUs */
    /* If on_instances is set, ranks of the gang get MIG instances, see gpu.h. */
    bool gpu_if_any, alone, on_instances;
    uint32_t any_gpus; /* gpu_if_any: GPUs that a rank gets in the present cluster */
    uint64_t memory_bytes;
    uint32_t time_limit_class;     /* group of similar time limits; 0: no limit */
    uint32_t per_node;             /* gang: ranks on each worker; 0: any number */
    bool spread;                   /* gang: spread evenly over many workers */
    bool files, of_user;           /* tasks have files; only workers that serve `uid` are used */
    uint32_t min_ranks;            /* gang: may start with this many ranks; 0: needs all */
    uint64_t full_size_timeout_ns; /* gang: time to wait for all ranks, see gang_size.h */
    struct gw_need *need;          /* constraint on workers; NULL: none */
    uint32_t queues, attempts;     /* number of references to it */
    uint32_t debits, ready; /* number of debits in all worker queues of this class; number of tasks
                               in all its ready queues */
    GW_ARRAY(struct gw_queue_group *) groups; /* a heap, ordered by their first queues */
    struct gw_queue_group *spare;             /* an empty group, or NULL */
    uint32_t nested; /* queues in the groups whose jobs were submitted by tasks */
    GW_ARRAY(struct gw_queue *) parked; /* queues without enough memory, at most GW_PARKED_MAX */
    bool parted;  /* blocked because some pairs of workers cannot connect to each other */
    bool blocked; /* none of its tasks fits until something is freed */
    bool could;   /* an empty cluster could run it; valid for could_epoch */
    uint64_t could_epoch;
    /* Worker queues that take further short tasks, as rings by load. A bit of `rooms` is set if the
     * ring of this load is not empty. */
    struct gw_worker_queue *room[GW_WORKER_QUEUE_LOADS];
    uint64_t rooms;
    struct gw_worker_queue *queued; /* ring of worker queues with more attempts than debits */
    uint32_t recalled;              /* attempts that were asked back and have not ended */
    /* If `need` is set: the workers that could ever run a rank, as of candidates_epoch. Workers
     * that the constraint names come first. */
    GW_ARRAY(struct gw_worker *) candidates;
    uint32_t candidates_named;
    uint64_t candidates_epoch;
};

/* Ready queues of a resource class that change their places in the order together: without a
 * policy, all; with a policy, those with the same priority, payer and stand to the quotas. */
struct gw_queue_group {
    const struct gw_payer *payer; /* NULL: without a policy */
    const struct gw_submit_queue *submit_queue;
    int32_t priority;
    uint32_t quota_kind; /* of their jobs, see account.h */
    uint8_t quota;       /* enum gw_quota of their first tasks */
    uint32_t heap_at;
    GW_ARRAY(struct gw_queue *) heap; /* ordered by priority, then job */
};

/* Ready tasks of one job with the same resource class and priority. */
struct gw_queue {
    struct gw_resource_class *shape;
    struct gw_job *job;
    int32_t priority;
    uint32_t heap_at;             /* GW_NO_INDEX: not in the heap of a group */
    struct gw_queue_group *group; /* NULL: not in a group */
    struct gw_bits ready;
    struct gw_bits fed; /* those of `ready` that have dependencies */
    bool parked;        /* not in the heap: no worker has enough memory now */
    uint8_t quota;      /* enum gw_quota of its first task, if it is in no group */
    uint32_t aged;      /* gangs: waiting periods of its first task, see ageing.h */
    uint64_t ages_ns;   /* end of the present period; 0: no task waits */
    uint64_t full_ns;   /* gangs with min_ranks: end of the wait for all ranks */
    struct gw_queue *age_prev, *age_next;
};

/* A worker's attempts of one resource class. A debit is the slots and other resources of one
 * attempt. There are at most as many debits as attempts. Attempts beyond the debits are prefetched
 * short tasks, and take over the debit of an attempt that ends. */
struct gw_worker_queue {
    struct gw_worker *worker;
    struct gw_resource_class *shape;
    uint32_t debits, attempts;
    uint32_t longs;     /* number of attempts that have a debit of their own, so that no other task
                           waits for their slot */
    uint32_t blocked;   /* of the longs: waiting for other tasks, with yielded slots */
    uint32_t may_run;   /* while the worker is lost: attempts that may have run */
    uint32_t recalled;  /* attempts that were asked back */
    uint32_t load;      /* index of its ring in shape->room */
    uint32_t pipelined; /* attempts whose tasks wait for tasks on this worker */
    bool barren;        /* nothing was worth asking back, and nothing has changed since */
    bool asked;         /* true: the worker queue is idle, the scheduler asked the worker to return
                           its pipelined tasks, and none was added since */
    struct gw_worker_queue *prev, *next;               /* ring shape->room[load]; NULL: not in it */
    struct gw_worker_queue *queued_prev, *queued_next; /* ring shape->queued; NULL: not in it */
    struct gw_worker_queue *idle_prev, *idle_next; /* ring sched->idle_queues; NULL: not in it */
};

#endif
