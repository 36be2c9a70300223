/* Preemptions: running work that saves and ends, so that work that waits can start in its place.
 * Some may be in progress at the same time. lifecycle/preemption.h has the rules. They begin only
 * with a policy, and a later term of the scheduler forgets them. */
#ifndef GW_SCHEDULER_CORE_MODEL_PREEMPTION_H
#define GW_SCHEDULER_CORE_MODEL_PREEMPTION_H

#include "graph/base/array.h"
#include "scheduler/core/model/reserved.h"

#include <stdbool.h>
#include <stdint.h>

struct gw_sched;
struct gw_job;
struct gw_queue;
struct gw_gang_attempt;

/* An attempt that was told to end. */
struct gw_preempted {
    uint64_t job, attempt;
    uint32_t index;
    bool gang;
    uint64_t until_ns; /* the scheduler ends it then; UINT64_MAX: its workers do */
};

struct gw_preemption {
    uint64_t job; /* whose task `index` waits for the room */
    uint32_t index;
    GW_ARRAY(struct gw_preempted) victims;
};

/* A task for which work was preempted in vain: until this time, no work is preempted for it, nor
 * for tasks that ask for the same with the same rights. */
struct gw_preempted_in_vain {
    uint64_t job, until_ns;
    uint32_t index;
};

struct gw_preemptions {
    struct gw_preemption items[GW_RESERVATIONS]; /* by the number of the reservation */
    uint32_t running;                            /* the set of those in progress */
    uint64_t look_ns; /* no work to preempt is looked for before this time */
    bool waits;       /* at the last look, some work waited that might preempt */
    GW_ARRAY(struct gw_preempted_in_vain) in_vain;
};

enum {
    GW_PREEMPTED_BY_BYTES = 128,
    /* The number of attempts that still end although their preemption is over. */
    GW_PREEMPTED_STILL = GW_RESERVATIONS
};

/* gw_sched_preemption_by writes for whom work is preempted: "job 7 of account vision". It returns
 * `text`. */
const char *gw_sched_preemption_by(const struct gw_job *job, char text[GW_PREEMPTED_BY_BYTES]);

/* gw_sched_preemption_text writes by whom the last attempt of a task was preempted: "it was
 * preempted by job 7 of account vision". If it was not, it returns false and leaves `text` alone.
 */
bool gw_sched_preemption_text(const struct gw_sched *sched, const struct gw_job *job,
                              uint32_t index, char *text, uint32_t bytes);

/* gw_sched_preemption_lives returns true if an attempt that was told to end has not ended. */
bool gw_sched_preemption_lives(const struct gw_sched *sched, const struct gw_preempted *victim);

/* gw_sched_preemption_of returns the number of the preemption for a job, or 0: there is at most one
 * for a job. */
uint32_t gw_sched_preemption_of(const struct gw_sched *sched, const struct gw_job *job);

/* gw_sched_preemption_check asserts that preemptions, their victims and reservations agree. */
void gw_sched_preemption_check(const struct gw_sched *sched);

/* Changes of state. gw_sched_preemption_begin: the first task of a queue waits for the room.
 * gw_sched_preemption_add: an attempt in this slot, or its gang, is told to end, by the scheduler
 * at until_ns if it goes on. gw_sched_preemption_kill: it was told so. gw_sched_preemption_spare:
 * a gang need not end after all. gw_sched_preemption_over: nobody waits for the room any more.
 * gw_sched_preemption_failed: the room is free, and the task that waits could not start.
 * gw_sched_preemption_looked: the next look is at next_ns. */
void gw_sched_preemption_begin(struct gw_sched *sched, uint32_t number,
                               const struct gw_queue *queue);
void gw_sched_preemption_add(struct gw_sched *sched, uint32_t number, uint32_t slot,
                             uint64_t until_ns);
void gw_sched_preemption_kill(struct gw_sched *sched, uint32_t number, uint32_t at);
void gw_sched_preemption_spare(struct gw_sched *sched, uint32_t number,
                               const struct gw_gang_attempt *gang);
void gw_sched_preemption_over(struct gw_sched *sched, uint32_t number);
void gw_sched_preemption_failed(struct gw_sched *sched, uint32_t number);
void gw_sched_preemption_looked(struct gw_sched *sched, uint64_t next_ns, bool waits);

/* gw_sched_preemptions_claim records in the accounts of a new policy what the tasks that wait will
 * use. There is a policy. */
void gw_sched_preemptions_claim(struct gw_sched *sched);

#endif
