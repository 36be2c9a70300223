/* State of actors: the waiting calls of each actor, and the worker at which the actor is. */
#ifndef GW_SCHEDULER_CORE_JOBS_ACTOR_H
#define GW_SCHEDULER_CORE_JOBS_ACTOR_H

#include "scheduler/core/model/state.h"

/* The unplaced calls of one session, as a list of its jobs in their order. */
struct gw_line {
    struct gw_session *session;
    struct gw_job *first, *last;
};

/* The number of handles to an actor that a session holds. */
struct gw_actor_hold {
    struct gw_session *session;
    uint32_t handles;
};

struct gw_actor {
    struct gw_job *job;
    struct gw_actor *prev, *next;
    uint8_t state;
    bool touched, callable; /* is on the list of that name */
    const char *name;       /* "": no name; "17/counter": belongs to job 17 */
    uint64_t owner;         /* the job to which it belongs; 0: none */
    uint64_t ended_with;    /* the job whose end has ended the actor; 0: none */
    GW_ARRAY(struct gw_actor_hold) holds;
    GW_ARRAY(struct gw_line *) lines;
    uint32_t turn;    /* index of the line that is served first at the next placement */
    uint32_t jobs;    /* number of jobs that are calls of it */
    uint64_t wanted;  /* calls that have not ended and are not being cancelled */
    uint32_t placed;  /* number of attempts of calls */
    uint64_t done;    /* calls that ended well */
    uint64_t mean_ns; /* running average of the run time of calls */
    uint32_t samples; /* since the actor last became alive */
    uint32_t restarts;
    bool returning; /* calls from its previous worker may still come back */
};

/* Updates after changes of an actor's calls or of its task. Only for use in model/. They do nothing
 * for a job without an actor. row_wanted adds `more` (which may be negative) to the number of calls
 * that are to run. attempt_ended records the run time of a call. forget_job detaches a job that is
 * freed from its actor, and frees the actor that the job created. */
void gw_sched_actor_row_ready(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_actor_attempt_added(struct gw_job *job);
void gw_sched_actor_attempt_ended(struct gw_sched *sched, struct gw_job *job, bool well,
                                  uint64_t run_ns);
void gw_sched_actor_row_wanted(struct gw_sched *sched, struct gw_job *job, int32_t more);
void gw_sched_actor_task_ended(struct gw_sched *sched, struct gw_job *job);
void gw_sched_actor_task_cancelling(struct gw_sched *sched, struct gw_job *job);
void gw_sched_actor_forget_job(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_actor_touch adds an actor to the list of actors that the step handles, once. */
void gw_sched_actor_touch(struct gw_sched *sched, struct gw_actor *actor);

/* gw_sched_actor_line_add inserts a job with calls of an actor into the list of such jobs of its
 * session, which is ordered by age. */
void gw_sched_actor_line_add(struct gw_job *job);

/* gw_sched_actor_line_remove removes a job from this list, if the job is in it. */
void gw_sched_actor_line_remove(struct gw_job *job);

/* gw_sched_actor_line_next returns the job with the next call of a line (its line_row) that waits
 * or is ready. It removes jobs without such a call from the line. It returns NULL if there is no
 * such call, or if an open job may still send an earlier one. */
struct gw_job *gw_sched_actor_line_next(const struct gw_line *line);

/* gw_sched_actor_spec_added creates the actor if the latest spec of a job is one, or connects the
 * job with the actor that the spec calls. gw_sched_actor_rows_added counts new tasks as calls.
 * Only for use in model/. */
void gw_sched_actor_spec_added(struct gw_sched *sched, struct gw_job *job);
void gw_sched_actor_rows_added(struct gw_sched *sched, struct gw_job *job, uint32_t rows);

/* gw_sched_is_call returns true if the tasks of a spec are calls of an actor. */
static inline bool gw_sched_is_call(const struct gw_spec *spec)
{
    return spec->message.actor != 0 && spec->message.actor != GW_ACTOR_NEW;
}

/* gw_sched_actor_hold_of returns the handles of a session to an actor, or NULL. */
struct gw_actor_hold *gw_sched_actor_hold_of(const struct gw_actor *actor,
                                             const struct gw_session *session);

/* gw_sched_actor_calls_let ends the wait of a job's calls for a worker to reconnect.
 * gw_sched_actor_forget_session removes a session that ends from all lines. Only for use in model/.
 */
void gw_sched_actor_calls_let(struct gw_sched *sched, struct gw_job *job);
void gw_sched_actor_forget_session(struct gw_sched *sched, const struct gw_session *session);

/* gw_sched_actor_take_touched removes the last actor from the list of touched actors and returns
 * it. gw_sched_actor_mark_callable adds an actor to the list of callable actors, or (false) marks
 * it as taken from that list. gw_sched_actor_line_turn returns the line of an actor that is served
 * next. It also notes that all calls of the previous worker are back. gw_sched_actor_line_take
 * returns the next task of a job in a line and advances. */
struct gw_actor *gw_sched_actor_take_touched(struct gw_sched *sched);
void gw_sched_actor_mark_callable(struct gw_sched *sched, struct gw_actor *actor, bool callable);
const struct gw_line *gw_sched_actor_line_turn(struct gw_actor *actor);
static inline uint32_t gw_sched_actor_line_take(struct gw_job *job)
{
    return job->line_row++;
}

/* gw_sched_actor_disown separates an actor from the job to which its name belongs: this job or the
 * actor ends. */
void gw_sched_actor_disown(struct gw_sched *sched, struct gw_actor *actor);

/* Records that a session has one more handle of an actor, or one fewer; with `all`, that it has
 * none any more. */
void gw_sched_actor_hold(struct gw_actor *actor, struct gw_session *session);
void gw_sched_actor_unhold(struct gw_sched *sched, struct gw_actor *actor,
                           struct gw_session *session, bool all);

#endif
