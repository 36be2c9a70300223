/* Actors: tasks that stay at their worker when they are through, and the calls that are made of
 * them.
 *
 * The task that makes an actor is placed as any other, and its attempt lasts as long as the actor
 * lives there: so its debit, its death and its next attempt are those of a task. Calls are tasks of
 * other jobs, which need no room of their own: those of one session go to the actor's worker in the
 * order in which they were made. */
#ifndef GW_SCHEDULER_CORE_ACTOR_H
#define GW_SCHEDULER_CORE_ACTOR_H

#include "scheduler/core/state.h"

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

/* gw_sched_actor_spec_check refuses a spec that makes or calls an actor where that cannot be:
 * GW_EINVAL, GW_ENOENT, GW_EEXIST, GW_EPERM. */
int gw_sched_actor_spec_check(const struct gw_sched *sched, const struct gw_job *job,
                              const struct gw_msg_spec *spec, struct gw_error *error);

/* gw_sched_is_call tells whether a spec's tasks are calls of an actor. */
static inline bool gw_sched_is_call(const struct gw_spec *spec)
{
    return spec->message.actor != 0 && spec->message.actor != GW_ACTOR_NEW;
}

/* For apply functions: a spec was added to a job, rows were; a row is ready; an attempt came or
 * went; a row of calls is wanted by its client (more: 1), or no more (-1); the task of an actor
 * ended, or is to; a job or a session goes. Jobs that have nothing to do with actors may be given.
 */
void gw_sched_actor_spec_added(struct gw_sched *sched, struct gw_job *job);
void gw_sched_actor_rows_added(struct gw_sched *sched, struct gw_job *job, uint32_t rows);
void gw_sched_actor_row_ready(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_actor_calls_let(struct gw_sched *sched, struct gw_job *job);
void gw_sched_actor_attempt_added(struct gw_job *job);
void gw_sched_actor_attempt_ended(struct gw_sched *sched, struct gw_job *job, bool well,
                                  uint64_t run_ns);
void gw_sched_actor_row_wanted(struct gw_sched *sched, struct gw_job *job, int32_t more);
void gw_sched_actor_task_ended(struct gw_sched *sched, struct gw_job *job);
void gw_sched_actor_task_cancelling(struct gw_sched *sched, struct gw_job *job);
void gw_sched_actor_forget_job(struct gw_sched *sched, struct gw_job *job);
void gw_sched_actor_forget_session(struct gw_sched *sched, const struct gw_session *session);

/* Messages. */
void gw_sched_actor_on_hold(struct gw_sched *sched, struct gw_session *session,
                            const struct gw_msg_actor_hold *message);
void gw_sched_actor_on_release(struct gw_sched *sched, struct gw_session *session,
                               const struct gw_msg_actor_release *message);
void gw_sched_actor_on_ready(struct gw_sched *sched, const struct gw_worker *worker,
                             const struct gw_msg_actor_ready *message);

/* gw_sched_actor_on_session_closed lets go of what a session held. */
void gw_sched_actor_on_session_closed(struct gw_sched *sched, struct gw_session *session);

/* gw_sched_actor_stood tells whether the attempt of an actor's task that ends now had been through:
 * what is lost with it is state, and only its restarts allow another one. */
bool gw_sched_actor_stood(const struct gw_job *job);

/* gw_sched_actor_again decides that the task of an actor runs again, before that is a fact. */
void gw_sched_actor_again(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_actor_end_well ends the task of an actor that let go of its state, if that is what the
 * end of its attempt means: true. */
bool gw_sched_actor_end_well(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_actors_settle decides what follows for actors that were touched: calls of the dead fail,
 * those that nobody needs are ended. gw_sched_actors_place places calls. */
void gw_sched_actors_settle(struct gw_sched *sched);
void gw_sched_actors_place(struct gw_sched *sched);

/* gw_sched_actor_label writes what a person calls it: "actor counter (job 7)". */
void gw_sched_actor_label(const struct gw_actor *actor, char *text, size_t text_bytes);

/* gw_sched_actor_explain writes why a call that is ready waits. */
void gw_sched_actor_explain(const struct gw_job *job, uint32_t row, char *text, size_t text_bytes);

/* gw_sched_actors_check asserts what must hold. */
void gw_sched_actors_check(const struct gw_sched *sched);

#endif
