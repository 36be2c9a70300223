/* Facts that are told of tasks, and where they are kept; see event_log.h. */
#ifndef GW_SCHEDULER_CORE_LOGGED_H
#define GW_SCHEDULER_CORE_LOGGED_H

#include "graph/base/array.h"
#include "graph/base/clock.h"
#include "scheduler/core/model/fact.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GW_LOGGED_FACTS_MAX = 1 << 16, /* that are kept, of all jobs */
    GW_LOGGED_TASKS_MAX = 1000,    /* of a job of which all is told */
    GW_LOGGED_UNUSUAL_MAX = 4096,  /* facts of a job that is larger */
    GW_LOGGED_TEXT_MAX = 240,      /* bytes of a fact's own text */
    GW_LOGGED_ANSWER_MAX = 1000,   /* facts in one answer, the latest */
};
#define GW_LOGGED_SLOW_NS (100 * GW_NS_PER_MS)

/* Why a task is at the worker where it is. */
enum gw_placed_why {
    GW_PLACED_FREE,   /* most free slots */
    GW_PLACED_DATA,   /* most bytes of its inputs */
    GW_PLACED_NEED,   /* has what it asks for beside slots */
    GW_PLACED_QUEUED, /* none is free: behind short ones */
    GW_PLACED_HEIR,   /* makes what it waits for */
    GW_PLACED_CALL,   /* its actor is there */
    GW_PLACED_ONLY,   /* no other is there */
};

/* What can be told of a task. Name, what it is called in answers. */
#define GW_LOGGED_KINDS(X)                                                                         \
    X(READY, "ready")                                                                              \
    X(PLACED, "placed")           /* worker, count: free slots, detail: why, number: near bytes */ \
    X(GANG_PLACED, "placed")      /* count: ranks, number: workers */                              \
    X(STARTED, "started")         /* worker */                                                     \
    X(GANG_STARTED, "started")    /* count: ranks, number: of so many */                           \
    X(BLOCKED, "blocked")         /* detail: or not any more */                                    \
    X(RECALLED, "recalled")       /* worker */                                                     \
    X(KILLED, "killed")           /* worker, detail: hard */                                       \
    X(TRY_ENDED, "attempt ended") /* detail: outcome, count: exit code, text: where, and why,      \
                                     number: it never began */                                     \
    X(DELAYED, "backoff")         /* number: nanoseconds */                                        \
    X(DONE, "done")               /* worker, number: bytes, run_ns, count: results */              \
    X(FAILED, "failed")           /* detail: because of another; text */                           \
    X(CANCELLED, "cancelled")                                                                      \
    X(CANCEL, "cancel") /* detail: reason, hard: count, text: who */                               \
    X(RELEASED, "released")                                                                        \
    X(LOST, "result lost") /* worker; 0: none came back with it */                                 \
    X(AGAIN, "again")      /* detail: as task_reopened.retry */                                    \
    X(UNNEEDED, "unneeded")                                                                        \
    X(ACTOR, "actor")                     /* detail: enum gw_actor_state */                        \
    X(OPENED, "opened")                   /* the jobs before its job have ended */                 \
    X(PAUSED, "paused")                   /* of the job; detail: or not any more, text: who */     \
    X(STOPPED, "stopped")                 /* early; text: by whom */                               \
    X(GROWS, "room again")                /* count: ranks, number: that it can have */             \
    X(CHECKPOINT_LOST, "checkpoint lost") /* number: step, count: or none, detail:                 \
                                             gw_event_log_lost, text: at whom */                   \
    X(CHECKPOINT, "checkpoint")           /* text: what became of it */                            \
    X(ADOPTED, "taken over")   /* worker, detail: it had ended, count: 1 + rank of a gang */       \
    X(REGAINED, "result kept") /* worker */
enum gw_event_log_kind {
#define KIND(name, text) GW_LOGGED_##name,
    GW_LOGGED_KINDS(KIND)
#undef KIND
};

enum gw_event_log_lost {
    GW_LOGGED_LOST_WITH_WORKER,
    GW_LOGGED_LOST_FOLDER, /* the worker lives */
    GW_LOGGED_LOST_UNSEEN, /* with the worker, and whether there was one is not known */
};

struct gw_logged {
    uint64_t at_ns, job, number, run_ns;
    uint32_t index, worker, count;
    uint16_t try_number;
    uint8_t kind, detail;
    const char *text; /* the ring has its own copy; NULL: none */
};

struct gw_event_log {
    GW_ARRAY(struct gw_logged) facts;     /* fact n, counted from 1, at (n - 1) % the maximum */
    uint64_t told;                        /* facts in all */
    uint64_t step;                        /* of them before this step */
    uint64_t ended_attempt, ended_run_ns; /* the last told of that ended well */
};

#endif
