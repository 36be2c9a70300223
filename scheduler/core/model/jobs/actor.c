/* State of actors: the waiting calls of each actor, and the worker at which the actor is. */
#include "scheduler/core/model/jobs/actor.h"

#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/scoped_name.h"

#include <assert.h>
#include <stdlib.h>

void gw_sched_actor_touch(struct gw_sched *sched, struct gw_actor *actor)
{
    if (actor->touched)
        return;
    actor->touched = true;
    GW_MUST(gw_array_push(&sched->touched, actor));
}

static struct gw_line *line_for(struct gw_actor *actor, struct gw_session *session)
{
    for (size_t i = 0; i < actor->lines.count; i++)
        if (actor->lines.items[i]->session == session)
            return actor->lines.items[i];
    struct gw_line *line = calloc(1, sizeof *line);
    GW_MUST_PTR(line);
    line->session = session;
    GW_MUST(gw_array_push(&actor->lines, line));
    return line;
}

/* Inserts a job into the list of its session's calls of an actor, which is ordered by age: a call
 * that a worker returned comes before younger calls, and a new call comes last. */
void gw_sched_actor_line_add(struct gw_job *job)
{
    struct gw_line *line = line_for(job->calls_of, job->session);
    struct gw_job *before = line->last;
    if (line->first && line->first->id > job->id)
        before = NULL;
    while (before && before->id > job->id)
        before = before->line_prev;
    job->line = line;
    job->line_prev = before;
    job->line_next = before ? before->line_next : line->first;
    *(job->line_prev ? &job->line_prev->line_next : &line->first) = job;
    *(job->line_next ? &job->line_next->line_prev : &line->last) = job;
}

void gw_sched_actor_line_remove(struct gw_job *job)
{
    struct gw_line *line = job->line;
    if (!line)
        return;
    *(job->line_prev ? &job->line_prev->line_next : &line->first) = job->line_next;
    *(job->line_next ? &job->line_next->line_prev : &line->last) = job->line_prev;
    job->line = NULL;
    job->line_prev = job->line_next = NULL;
}

/* Returns the job with the next waiting or ready task. Removes jobs without such a task from the
 * line. Returns NULL if there is none. */
struct gw_job *gw_sched_actor_line_next(const struct gw_line *line)
{
    struct gw_job *job;
    while ((job = line->first)) {
        for (; job->line_row < job->tasks.count; job->line_row++)
            if (job->tasks.state[job->line_row] <= GW_TASK_READY)
                return job;
        if (job->state == GW_JOB_OPEN)
            return NULL; /* calls that the client will still add to this job come before the calls
                            of younger jobs */
        gw_sched_actor_line_remove(job);
    }
    return NULL;
}

void gw_sched_actor_row_wanted(struct gw_sched *sched, struct gw_job *job, int32_t more)
{
    struct gw_actor *actor = job->calls_of;
    if (!actor)
        return;
    assert(more > 0 || actor->wanted > 0);
    actor->wanted += (uint64_t)(int64_t)more;
    gw_sched_actor_touch(sched, actor);
}

void gw_sched_actor_row_ready(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    if (!job->calls_of)
        return;
    if (row < job->line_row)
        job->line_row = row;
    if (!job->line)
        gw_sched_actor_line_add(job);
    gw_sched_actor_touch(sched, job->calls_of);
}

void gw_sched_actor_attempt_added(struct gw_job *job)
{
    if (job->calls_of)
        job->calls_of->placed++;
}

void gw_sched_actor_attempt_ended(struct gw_sched *sched, struct gw_job *job, bool well,
                                  uint64_t run_ns)
{
    struct gw_actor *actor = job->calls_of;
    if (!actor)
        return;
    actor->placed--;
    if (well) {
        uint64_t weight = actor->samples < 8 ? actor->samples + 1 : 8;
        actor->mean_ns = actor->mean_ns - actor->mean_ns / weight + run_ns / weight;
        if (actor->samples < UINT32_MAX)
            actor->samples++;
        actor->done++;
    }
    gw_sched_actor_touch(sched, actor);
}

void gw_sched_actor_task_ended(struct gw_sched *sched, struct gw_job *job)
{
    if (!job->actor)
        return;
    gw_sm_move(&gw_sched_actor_sm, &job->actor->state, GW_ACTOR_DEAD);
    gw_sched_actor_touch(sched, job->actor);
}

void gw_sched_actor_task_cancelling(struct gw_sched *sched, struct gw_job *job)
{
    if (job->actor && job->actor->state != GW_ACTOR_ENDING)
        gw_sm_move(&gw_sched_actor_sm, &job->actor->state, GW_ACTOR_ENDING);
}

void gw_sched_actor_disown(struct gw_sched *sched, struct gw_actor *actor)
{
    struct gw_job *owner = actor->owner ? gw_sched_job_find(sched, actor->owner) : NULL;
    if (owner)
        owner->names--;
    if (actor->state < GW_ACTOR_ENDING)
        actor->ended_with = actor->owner;
    actor->owner = 0;
}

static void actor_free(struct gw_sched *sched, struct gw_actor *actor)
{
    gw_sched_actor_disown(sched, actor);
    *(actor->prev ? &actor->prev->next : &sched->actors) = actor->next;
    *(actor->next ? &actor->next->prev : &sched->actors_last) = actor->prev;
    for (size_t i = sched->touched.count; i-- > 0;)
        if (sched->touched.items[i] == actor)
            gw_array_remove_swap(&sched->touched, i);
    for (size_t i = sched->callable.count; i-- > 0;)
        if (sched->callable.items[i] == actor)
            gw_array_remove_swap(&sched->callable, i);
    for (size_t i = 0; i < actor->lines.count; i++) {
        while (actor->lines.items[i]->first)
            gw_sched_actor_line_remove(actor->lines.items[i]->first);
        free(actor->lines.items[i]);
    }
    gw_array_deinit(&actor->lines);
    gw_array_deinit(&actor->holds);
    free(actor);
}

void gw_sched_actor_forget_job(struct gw_sched *sched, struct gw_job *job)
{
    if (job->calls_of) {
        gw_sched_actor_line_remove(job);
        if (--job->calls_of->jobs == 0)
            GW_MUST(gw_array_push(&sched->aging, job->calls_of->job->id));
        job->calls_of = NULL;
    }
    if (!job->actor)
        return;
    for (struct gw_job *other = sched->first_job; job->actor->jobs > 0 && other;
         other = other->next) /* happens only when the whole state is freed */
        if (other->calls_of == job->actor) {
            gw_sched_actor_line_remove(other);
            other->calls_of = NULL;
            job->actor->jobs--;
        }
    actor_free(sched, job->actor);
    job->actor = NULL;
}

static const struct gw_sm_state actor_states[] = {
    [GW_ACTOR_CREATING] = {"creating", GW_SM_NEXT(GW_ACTOR_ALIVE) | GW_SM_NEXT(GW_ACTOR_ENDING) |
                                           GW_SM_NEXT(GW_ACTOR_DEAD)},
    [GW_ACTOR_ALIVE] = {"alive", GW_SM_NEXT(GW_ACTOR_RESTARTING) | GW_SM_NEXT(GW_ACTOR_ENDING) |
                                     GW_SM_NEXT(GW_ACTOR_DEAD)},
    [GW_ACTOR_RESTARTING] = {"restarting", GW_SM_NEXT(GW_ACTOR_ALIVE) |
                                               GW_SM_NEXT(GW_ACTOR_ENDING) |
                                               GW_SM_NEXT(GW_ACTOR_DEAD)},
    [GW_ACTOR_ENDING] = {"ending", GW_SM_NEXT(GW_ACTOR_DEAD)},
    [GW_ACTOR_DEAD] = {"dead", 0},
};

struct gw_sm gw_sched_actor_sm = {"actor", actor_states, sizeof actor_states / sizeof *actor_states,
                                  NULL};

static struct gw_actor *actor_new(struct gw_sched *sched, struct gw_job *job)
{
    struct gw_actor *actor = calloc(1, sizeof *actor);
    GW_MUST_PTR(actor);
    actor->job = job;
    actor->name = job->specs.items[0].message.actor_name;
    actor->owner = gw_scoped_name_job(actor->name);
    if (actor->owner)
        gw_sched_job_find(sched, actor->owner)->names++;
    actor->prev = sched->actors_last;
    *(actor->prev ? &actor->prev->next : &sched->actors) = actor;
    sched->actors_last = actor;
    if (job->session)
        GW_MUST(gw_array_push(&actor->holds, ((struct gw_actor_hold){job->session, 1})));
    return actor;
}

void gw_sched_actor_spec_added(struct gw_sched *sched, struct gw_job *job)
{
    const struct gw_spec *spec = &job->specs.items[job->specs.count - 1];
    if (spec->message.actor == GW_ACTOR_NEW) {
        job->actor = actor_new(sched, job);
    } else if (spec->message.actor && !job->calls_of) {
        job->calls_of = gw_sched_job_find(sched, spec->message.actor)->actor;
        job->calls_of->jobs++;
    }
}

void gw_sched_actor_rows_added(struct gw_sched *sched, struct gw_job *job, uint32_t rows)
{
    if (!job->calls_of || rows == 0)
        return;
    gw_sched_actor_row_wanted(sched, job, (int32_t)rows);
    if (!job->line)
        gw_sched_actor_line_add(job);
}

struct gw_actor_hold *gw_sched_actor_hold_of(const struct gw_actor *actor,
                                             const struct gw_session *session)
{
    for (size_t i = 0; i < actor->holds.count; i++)
        if (actor->holds.items[i].session == session)
            return &actor->holds.items[i];
    return NULL;
}

void gw_sched_actor_hold(struct gw_actor *actor, struct gw_session *session)
{
    struct gw_actor_hold *hold = gw_sched_actor_hold_of(actor, session);
    if (hold)
        hold->handles++;
    else
        GW_MUST(gw_array_push(&actor->holds, ((struct gw_actor_hold){session, 1})));
}

void gw_sched_actor_unhold(struct gw_sched *sched, struct gw_actor *actor,
                           struct gw_session *session, bool all)
{
    for (size_t i = actor->holds.count; i-- > 0;) {
        struct gw_actor_hold *hold = &actor->holds.items[i];
        if (hold->session == session && (all || --hold->handles == 0))
            gw_array_remove_swap(&actor->holds, i);
    }
    gw_sched_actor_touch(sched, actor);
}

void gw_sched_actor_calls_let(struct gw_sched *sched, struct gw_job *job)
{
    if (job->calls_of)
        gw_sched_actor_touch(sched, job->calls_of);
}

void gw_sched_actor_forget_session(struct gw_sched *sched, const struct gw_session *session)
{
    for (struct gw_actor *actor = sched->actors; actor; actor = actor->next)
        for (size_t i = 0; i < actor->lines.count; i++) {
            struct gw_line *line = actor->lines.items[i];
            if (line->session != session)
                continue;
            gw_array_remove_swap(&actor->lines, i);
            while (line->first) { /* other sessions may hold the results of these calls */
                struct gw_job *job = line->first;
                gw_sched_actor_line_remove(job);
                gw_sched_actor_line_add(job);
            }
            free(line);
            break;
        }
}

struct gw_actor *gw_sched_actor_take_touched(struct gw_sched *sched)
{
    struct gw_actor *actor = sched->touched.items[--sched->touched.count];
    actor->touched = false;
    return actor;
}

void gw_sched_actor_mark_callable(struct gw_sched *sched, struct gw_actor *actor, bool callable)
{
    if (callable && !actor->callable)
        GW_MUST(gw_array_push(&sched->callable, actor));
    actor->callable = callable;
}

const struct gw_line *gw_sched_actor_line_turn(struct gw_actor *actor)
{
    actor->returning = false;
    actor->turn = actor->turn < actor->lines.count ? actor->turn : 0;
    return actor->lines.items[actor->turn++];
}
