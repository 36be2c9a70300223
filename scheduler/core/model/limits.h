/* Limits of the scheduler's core, and what is taken where somebody said nothing. */
#ifndef GW_SCHEDULER_CORE_LIMITS_H
#define GW_SCHEDULER_CORE_LIMITS_H

#include "graph/base/clock.h"

#include <stdint.h>

enum {
    GW_NO_INDEX = UINT32_MAX, /* no place in a table */
    GW_TASK_DEPS_MAX = 1 << 18,
    GW_TASKS_MAX = 1 << 30, /* of a job */
    GW_RANKS_MAX = 4096,
    GW_FUNCTION_RANKS_MAX = 128,    /* of a gang of a function: what its collectives can have */
    GW_ROW_BYTES_MAX = 14 << 20,    /* of one task in an assign: arguments and dependencies */
    GW_DEP_BYTES = 40,              /* of a dependency in an assign, its value apart */
    GW_FLUSH_BYTES = 640 << 10,     /* a batch that is larger leaves at once */
    GW_ROW_INLINE_MAX = 1 << 20,    /* of one task's inline inputs; others are fetched */
    GW_WINDOW_MAX = 1024,           /* tasks a slot, the running one included */
    GW_WINDOWS_MAX = 1 << 20,       /* tasks of all windows together, but for one a slot */
    GW_SLOTS_MAX = 1 << 22,         /* of all workers: attempts have names for four times that */
    GW_UNCHARGED_MAX = 100,         /* attempts of a task that nobody is charged for */
    GW_PORT_TRIES_MAX = 3,          /* of a gang, more than it has, because its port was taken */
    GW_PURE_KEEP_MAX = 10000,       /* results of pure tasks that are kept for who asks next */
    GW_HISTORY_JOBS_MAX = 10000,    /* ended jobs that stay listed */
    GW_HISTORY_TASKS_MAX = 4 << 20, /* tasks of ended jobs that stay listed */
    GW_JOB_IDS_BLOCK = 1000,        /* ids that one durable fact reserves */
    GW_SHAPES_IDLE_MAX = 256,
    GW_WORKER_QUEUES_TRIED_MAX = 8,   /* before a shape counts as blocked */
    GW_WORKER_QUEUE_LOADS = 64,       /* see worker_queue.h */
    GW_PARKED_MAX = 32,               /* queues of a shape that lack memory, before it is blocked */
    GW_UNAFFORDING_MAX = 64,          /* workers that lack memory for a task, before it waits */
    GW_PIPELINED_SUCCESSORS_MAX = 16, /* of one task, looked at */
    GW_PIPELINED_DEPS_MAX = 16,       /* of a task that is handed over */
    GW_DATA_WORKERS_MAX = 16,         /* considered for one task because they hold its inputs */
    GW_ANSWER_JOBS_MAX = 10000,       /* rows of one answer to a query */
    GW_ANSWER_TASKS_MAX = 5000,
    GW_RANGE_BLOCK = 16384,        /* rows of a range that are given back together */
    GW_RANGE_AHEAD = 65536,        /* rows with results that nobody has taken */
    GW_RANGE_HUNGRY = 1024,        /* fewer rows than this that can be placed: more are made ... */
    GW_RANGE_MEAL = 4096,          /* ... up to this many */
    GW_RANGE_FAILURES_MAX = 1000,  /* that are kept of rows that were given back */
    GW_RANGE_BAD_BLOCKS_MAX = 64,  /* that stay because something of them may be run again */
    GW_RANGE_UNBEGUN_MAX = 65536,  /* rows that one that is run again makes cancelled before it */
    GW_RANGE_GIVEN_UP_MAX = 65536, /* runs of rows that were given up before they were made */
    GW_GATES_MAX = 10000,          /* jobs that one comes after */
    GW_QUARANTINES_MAX = 256,      /* workers that failed gangs, remembered */
    GW_PARTINGS_MAX = 64,          /* pairs that could not reach each other, remembered */
    GW_PARTED_OUT_MAX = 8,         /* workers that a gang does without because of such pairs */
    GW_PARTED_PACKS_MAX = 64,      /* tries to place one so, each time */
    GW_UNREACHED_MAX = 8,          /* attempts of a gang that are not charged for it */
    GW_TUNNELS_MAX = 1024,         /* that stand at once */
    GW_TUNNELS_WAITING_MAX = 1 << 16, /* for their task to run */
    GW_PLACES_KEPT_MAX = 65536,       /* tasks of a job whose places outlive the scheduler */
};
#define GW_WINDOW_TARGET_NS (20 * GW_NS_PER_MS) /* work that may queue behind a slot */
#define GW_GANG_PREPARE_NS (60 * GW_NS_PER_S)
#define GW_GANG_TRANSFER_NS (900 * GW_NS_PER_S) /* beside that, where its checkpoint is carried */
#define GW_GANG_EARLY_NS (60 * GW_NS_PER_S)     /* after go: ranks may still find each other */
#define GW_BACKOFF_NS_MAX (300 * GW_NS_PER_S)
#define GW_GRACE_NS (10 * GW_NS_PER_S)
#define GW_FAIL_GRACE_NS (200 * GW_NS_PER_MS)
#define GW_SHUTDOWN_NS (12 * GW_NS_PER_S)
#define GW_AGEING_NS (600 * GW_NS_PER_S) /* periods after which a waiting gang rises */
#define GW_QUARANTINE_NS GW_NS_PER_S
#define GW_QUARANTINE_NS_MAX (120 * GW_NS_PER_S)
#define GW_PARTING_NS (60 * GW_NS_PER_S)
#define GW_PARTING_NS_MAX (600 * GW_NS_PER_S)

/* How long workers have to look at the ranks of a gang that are not ready in time
 * (lifecycle/hang.h). */
#define GW_HANG_LOOK_NS (10 * GW_NS_PER_S)

#endif
