/* Facts of the event log, and the ring that keeps them. See event_log.h. */
#ifndef GW_SCHEDULER_CORE_LOGGED_H
#define GW_SCHEDULER_CORE_LOGGED_H

#include "graph/base/array.h"
#include "graph/base/clock.h"
#include "scheduler/core/model/fact.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GW_LOGGED_FACTS_MAX = 1 << 16, /* kept facts of all jobs */
    GW_LOGGED_TASKS_MAX = 1000,    /* a job with more tasks records only unusual facts */
    GW_LOGGED_UNUSUAL_MAX = 4096,  /* unusual facts of one large job */
    GW_LOGGED_TEXT_MAX = 240,      /* bytes of the text of a fact */
    GW_LOGGED_ANSWER_MAX = 1000,   /* facts in one answer, the latest ones */
};
#define GW_LOGGED_SLOW_NS (100 * GW_NS_PER_MS)

/* Why a task was placed at its worker. */
enum gw_placed_why {
    GW_PLACED_FREE,      /* it has the most free slots */
    GW_PLACED_DATA,      /* it has the most bytes of the inputs */
    GW_PLACED_NEED,      /* it satisfies the task's constraint */
    GW_PLACED_QUEUED,    /* no slot is free: queued behind short tasks */
    GW_PLACED_SUCCESSOR, /* it runs the task's dependencies */
    GW_PLACED_CALL,      /* the actor is there */
    GW_PLACED_ONLY,      /* it is the only worker */
};

/* Kinds of facts: the name, and the word in answers. The comments say what the fields of the fact
 * hold. */
#define GW_LOGGED_KINDS(X)                                                                         \
    X(READY, "ready")                                                                              \
    X(PLACED, "placed")           /* worker, count: free slots, detail: why, number: near bytes */ \
    X(GANG_PLACED, "placed")      /* count: ranks, number: workers */                              \
    X(STARTED, "started")         /* worker */                                                     \
    X(GANG_STARTED, "started")    /* count: ranks, number: of so many */                           \
    X(BLOCKED, "blocked")         /* detail: 0: not any more */                                    \
    X(RECALLED, "recalled")       /* worker */                                                     \
    X(KILLED, "killed")           /* worker, detail: hard */                                       \
    X(TRY_ENDED, "attempt ended") /* detail: outcome, count: exit code, text: where, and why,      \
                                     number: it never began */                                     \
    X(DELAYED, "backoff")         /* number: nanoseconds */                                        \
    X(DONE, "done")               /* worker, number: bytes, run_ns, count: results */              \
    X(FAILED, "failed")           /* detail: because of another; text */                           \
    X(CANCELLED, "cancelled")                                                                      \
    X(CANCEL, "cancel") /* detail: reason, hard: count, text: by whom */                           \
    X(RELEASED, "released")                                                                        \
    X(LOST, "result lost") /* worker; 0: no worker reconnected with it */                          \
    X(AGAIN, "again")      /* detail: as task_reopened.retry */                                    \
    X(UNNEEDED, "unneeded")                                                                        \
    X(ACTOR, "actor")                     /* detail: enum gw_actor_state */                        \
    X(OPENED, "opened")                   /* the jobs before its job have ended */                 \
    X(PAUSED, "paused")                   /* the job; detail: 0: not any more, text: by whom */    \
    X(STOPPED, "stopped")                 /* early; text: by whom */                               \
    X(PREEMPTED, "preempted")             /* text: by whom, detail: it goes on after all */        \
    X(GROWS, "room again")                /* count: ranks, number: possible ranks */               \
    X(CHECKPOINT_LOST, "checkpoint lost") /* number: step, count: or none, detail:                 \
                                             gw_event_log_lost, text: at whom */                   \
    X(CHECKPOINT, "checkpoint")           /* text: what happened to it */                          \
    X(ADOPTED, "taken over")   /* worker, detail: had ended, count: 1 + rank of a gang */          \
    X(REGAINED, "result kept") /* worker */
enum gw_event_log_kind {
#define KIND(name, text) GW_LOGGED_##name,
    GW_LOGGED_KINDS(KIND)
#undef KIND
};

enum gw_event_log_lost {
    GW_LOGGED_LOST_WITH_WORKER,
    GW_LOGGED_LOST_FOLDER, /* the worker is alive */
    GW_LOGGED_LOST_UNSEEN, /* lost with the worker; it is unknown whether one existed */
};

struct gw_logged {
    uint64_t at_ns, job, number, run_ns;
    uint32_t index, worker, count;
    uint16_t try_number;
    uint8_t kind, detail;
    const char *text; /* the ring has its own copy; NULL: none */
};

struct gw_event_log {
    /* Ring: fact n, counted from 1, is at (n - 1) % the maximum. */
    GW_ARRAY(struct gw_logged) facts;
    uint64_t told;                        /* total number of facts */
    uint64_t step;                        /* number of facts before this step */
    uint64_t ended_attempt, ended_run_ns; /* last attempt that was recorded as ended well */
};

#endif
