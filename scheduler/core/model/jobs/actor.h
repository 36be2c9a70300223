/* The rows of actors: which of their calls wait, and the worker at which an actor lives. */
#ifndef GW_SCHEDULER_CORE_JOBS_ACTOR_H
#define GW_SCHEDULER_CORE_JOBS_ACTOR_H

#include "scheduler/core/model/state.h"

/* Calls of one session that were not placed: its jobs in their order. */
struct gw_line {
    struct gw_session *session;
    struct gw_job *first, *last;
};

/* How often a session holds it. */
struct gw_actor_hold {
    struct gw_session *session;
    uint32_t handles;
};

struct gw_actor {
    struct gw_job *job;
    struct gw_actor *prev, *next;
    uint8_t state;
    bool touched, callable; /* it is in the list of that name */
    const char *name;       /* "": it has none */
    GW_ARRAY(struct gw_actor_hold) holds;
    GW_ARRAY(struct gw_line *) lines;
    uint32_t turn;    /* the line that comes first at the next placement */
    uint32_t jobs;    /* that are calls of it */
    uint64_t wanted;  /* calls that have not ended and are not being cancelled */
    uint32_t placed;  /* attempts of calls */
    uint64_t done;    /* calls that ended well */
    uint64_t mean_ns; /* of the time that calls ran, weighted towards the latest */
    uint32_t samples; /* since it last became alive */
    uint32_t restarts;
    bool returning; /* calls may still come back from where it was before */
};

/* These follow changes of an actor's calls and of its task; for apply functions. A job that has
 * nothing to do with an actor is left alone. row_wanted counts `more` calls (negative: fewer) that
 * are to run; attempt_ended learns how long calls run; forget_job takes a job that goes out of its
 * actor, and frees the actor that it made. */
void gw_sched_actor_row_ready(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_actor_attempt_added(struct gw_job *job);
void gw_sched_actor_attempt_ended(struct gw_sched *sched, struct gw_job *job, bool well,
                                  uint64_t run_ns);
void gw_sched_actor_row_wanted(struct gw_sched *sched, struct gw_job *job, int32_t more);
void gw_sched_actor_task_ended(struct gw_sched *sched, struct gw_job *job);
void gw_sched_actor_task_cancelling(struct gw_sched *sched, struct gw_job *job);
void gw_sched_actor_forget_job(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_actor_touch lists an actor, once, among those that the step looks at. */
void gw_sched_actor_touch(struct gw_sched *sched, struct gw_actor *actor);

/* gw_sched_actor_line_add puts a job into the line of its session at its actor, ordered by age. */
void gw_sched_actor_line_add(struct gw_job *job);

/* gw_sched_actor_line_remove takes a job out of its line, if it is in one. */
void gw_sched_actor_line_remove(struct gw_job *job);

/* gw_sched_actor_line_next returns the job with the next call of a line (its line_row) that waits
 * or is ready. It removes jobs without such a call from the line. NULL: no call, or an open job may
 * send an earlier one. */
struct gw_job *gw_sched_actor_line_next(const struct gw_line *line);

/* gw_sched_actor_spec_added makes the actor that a job's latest spec is, or ties the job to the
 * actor that the spec calls; gw_sched_actor_rows_added counts new rows as calls. For apply
 * functions. */
void gw_sched_actor_spec_added(struct gw_sched *sched, struct gw_job *job);
void gw_sched_actor_rows_added(struct gw_sched *sched, struct gw_job *job, uint32_t rows);

/* gw_sched_is_call tells whether a spec's tasks are calls of an actor. */
static inline bool gw_sched_is_call(const struct gw_spec *spec)
{
    return spec->message.actor != 0 && spec->message.actor != GW_ACTOR_NEW;
}

/* gw_sched_actor_hold_of returns what a session holds of an actor; NULL: nothing. */
struct gw_actor_hold *gw_sched_actor_hold_of(const struct gw_actor *actor,
                                             const struct gw_session *session);

/* gw_sched_actor_calls_let: the calls of a job wait for no worker any more.
 * gw_sched_actor_forget_session takes a session that ends out of all lines. For apply functions. */
void gw_sched_actor_calls_let(struct gw_sched *sched, struct gw_job *job);
void gw_sched_actor_forget_session(struct gw_sched *sched, const struct gw_session *session);

/* gw_sched_actor_take_touched takes the actor that was touched last off its list.
 * gw_sched_actor_mark_callable lists an actor of which calls may be placed, or (false) takes it in
 * hand. gw_sched_actor_line_turn returns the line of an actor whose turn it is; its calls that had
 * to return are back. gw_sched_actor_line_take returns the next row of a job in a line, and moves
 * on. */
struct gw_actor *gw_sched_actor_take_touched(struct gw_sched *sched);
void gw_sched_actor_mark_callable(struct gw_sched *sched, struct gw_actor *actor, bool callable);
const struct gw_line *gw_sched_actor_line_turn(struct gw_actor *actor);
static inline uint32_t gw_sched_actor_line_take(struct gw_job *job)
{
    return job->line_row++;
}

#endif
