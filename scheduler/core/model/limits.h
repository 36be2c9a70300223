/* Limits and defaults of the scheduler's core. */
#ifndef GW_SCHEDULER_CORE_LIMITS_H
#define GW_SCHEDULER_CORE_LIMITS_H

#include "graph/base/clock.h"

#include <stdint.h>

enum {
    GW_NO_INDEX = UINT32_MAX, /* no index into a table */
    GW_TASK_DEPS_MAX = 1 << 18,
    GW_TASKS_MAX = 1 << 30, /* in a job */
    GW_RANKS_MAX = 4096,
    GW_FUNCTION_RANKS_MAX = 128,    /* in a gang of functions: limit of their collectives */
    GW_ROW_BYTES_MAX = 14 << 20,    /* arguments and dependencies of one task in an assign */
    GW_DEP_BYTES = 40,              /* one dependency in an assign, without its value */
    GW_FLUSH_BYTES = 640 << 10,     /* a larger batch is sent early */
    GW_ROW_INLINE_MAX = 1 << 20,    /* inline inputs of one task; larger ones are fetched */
    GW_WINDOW_MAX = 1024,           /* tasks for one slot, including the running one */
    GW_WINDOWS_MAX = 1 << 20,       /* prefetched tasks of all windows, beyond one for each slot */
    GW_SLOTS_MAX = 1 << 22,         /* of all workers; attempt ids suffice for four times that */
    GW_SLOTLESS_MAX = 64,           /* tasks without a slot that a worker runs at once */
    GW_UNCOUNTED_MAX = 100,         /* attempts that do not count against the retry budget */
    GW_PORT_TRIES_MAX = 3,          /* more attempts of a gang because its port was in use */
    GW_PURE_RETAINED_MAX = 10000,   /* kept results of pure tasks that no task needs now */
    GW_HISTORY_JOBS_MAX = 10000,    /* ended jobs in the history */
    GW_HISTORY_TASKS_MAX = 4 << 20, /* tasks of ended jobs in the history */
    GW_JOB_IDS_BLOCK = 1000,        /* job ids that one durable fact reserves */
    GW_SHAPES_IDLE_MAX = 256,
    GW_WORKER_QUEUES_TRIED_MAX = 8,   /* tried before a resource class counts as blocked */
    GW_WORKER_QUEUE_LOADS = 64,       /* see worker_queue.h */
    GW_PARKED_MAX = 32,               /* queues of a class without memory, before it is blocked */
    GW_UNAFFORDING_MAX = 64,          /* workers without memory for a task, before the task waits */
    GW_PIPELINED_SUCCESSORS_MAX = 16, /* successors of a task that are checked */
    GW_PIPELINED_DEPS_MAX = 16,       /* dependencies of a pipelined task */
    GW_DATA_WORKERS_MAX = 16,         /* workers that are considered because they hold inputs */
    GW_ANSWER_JOBS_MAX = 10000,       /* rows in one answer to a query */
    GW_ANSWER_TASKS_MAX = 5000,
    GW_RANGE_BLOCK = 16384,        /* rows of a range that are freed together */
    GW_RANGE_AHEAD = 65536,        /* rows whose results were not taken yet */
    GW_RANGE_HUNGRY = 1024,        /* with fewer placeable rows than this, more are created ... */
    GW_RANGE_MEAL = 4096,          /* ... up to this many */
    GW_RANGE_FAILURES_MAX = 1000,  /* kept failures of freed rows */
    GW_RANGE_BAD_BLOCKS_MAX = 64,  /* blocks that stay because a task in them may run again */
    GW_RANGE_UNBEGUN_MAX = 65536,  /* rows before a rerun row that are created as cancelled */
    GW_RANGE_GIVEN_UP_MAX = 65536, /* runs of rows that were given up before creation */
    GW_GATES_MAX = 10000,          /* jobs that a job may start after */
    GW_QUARANTINES_MAX = 256,      /* workers in quarantine that are remembered */
    GW_PARTINGS_MAX = 64,          /* pairs without a connection that are remembered */
    GW_PARTED_OUT_MAX = 8,         /* workers that a gang avoids because of such pairs */
    GW_PARTED_PACKS_MAX = 64,      /* attempts to place a gang around such pairs */
    GW_UNREACHED_MAX = 8,          /* attempts of a gang that do not count because of such pairs */
    GW_TUNNELS_MAX = 1024,         /* open at the same time */
    GW_TUNNELS_WAITING_MAX = 1 << 16, /* waiting for their task to run */
    GW_PLACES_RETAINED_MAX = 65536,   /* tasks of a job whose places are durable */
    GW_POLICY_RANKINGS_MAX = 64,      /* of the users, in GW_POLICY_RANK_NS */
    GW_PREEMPTIONS_MAX = 8,           /* in progress at the same time */
};
#define GW_WINDOW_TARGET_NS (20 * GW_NS_PER_MS) /* prefetched work for a slot */
#define GW_WINDOW_SHARED_NS (5 * GW_NS_PER_MS)  /* the same, if several users have accounts */
#define GW_GANG_PREPARE_NS (60 * GW_NS_PER_S)
#define GW_GANG_TRANSFER_NS (900 * GW_NS_PER_S) /* more, if a checkpoint is transferred */
#define GW_GANG_EARLY_NS (60 * GW_NS_PER_S)     /* after the start, ranks may still be connecting */
#define GW_BACKOFF_NS_MAX (300 * GW_NS_PER_S)
#define GW_GRACE_NS (10 * GW_NS_PER_S)
#define GW_FAIL_GRACE_NS (200 * GW_NS_PER_MS)
#define GW_SHUTDOWN_NS (12 * GW_NS_PER_S)
#define GW_AGEING_NS (600 * GW_NS_PER_S)        /* after this, a waiting gang rises in the order */
#define GW_POLICY_RANK_NS (100 * GW_NS_PER_MS)  /* a ranking of the users is at most this old */
#define GW_PREEMPT_LOOK_NS GW_NS_PER_S          /* between two looks for work to preempt */
#define GW_PREEMPT_FAILED_NS (60 * GW_NS_PER_S) /* after work was preempted in vain */
#define GW_QUARANTINE_NS GW_NS_PER_S
#define GW_QUARANTINE_NS_MAX (120 * GW_NS_PER_S)
#define GW_PARTING_NS (60 * GW_NS_PER_S)
#define GW_PARTING_NS_MAX (600 * GW_NS_PER_S)

/* Time for workers to inspect the ranks of a gang that are not ready in time (lifecycle/hang.h). */
#define GW_HANG_LOOK_NS (10 * GW_NS_PER_S)

#endif
