/* Scheduler part of actors: checks of specs, the sessions that hold an actor, placement of calls,
 * and the end of actors that are no longer needed.
 *
 * Invariants: an actor is alive while the attempt of its task is at a worker and that attempt has
 * reported that the actor is ready. Calls are placed only at the actor's worker. The calls of one
 * session are placed in the order of their jobs and rows. A call that may have begun is placed
 * again only if its own retries allow it. An actor is ended if no session holds it and no call of
 * it is still wanted.
 *
 * The lines (one for each session) are an index over the task tables: each placed call advances the
 * line. */
#include "scheduler/core/lifecycle/actor.h"

#include "scheduler/core/lifecycle/cancel.h"
#include "scheduler/core/model/jobs/scoped_name.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/notify.h"
#include "scheduler/core/send/outbox.h"
#include "scheduler/core/send/send.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    /* The smallest number of calls that the worker of an actor has in advance, so that the next
     * call can begin as soon as one ends. */
    WINDOW_MIN = 2,
    /* The most calls of one session that are placed before calls of the next session. */
    TURN_CALLS = 64,
};

void gw_sched_actor_label(const struct gw_actor *actor, char *text, size_t text_bytes)
{
    const struct gw_job *job = actor->job;
    const char *name = *actor->name ? actor->name : job->specs.items[0].message.function;
    (void)snprintf(text, text_bytes, "actor %s (job %llu)", name, (unsigned long long)job->id);
}

/* -- Checks of specs ----------------------------------------------------------------------- */

static struct gw_actor *find_named(const struct gw_sched *sched, uint32_t uid, const char *name)
{
    for (struct gw_actor *actor = sched->actors; actor; actor = actor->next)
        if (actor->state != GW_ACTOR_DEAD && actor->job->uid == uid &&
            strcmp(actor->name, name) == 0)
            return actor;
    return NULL;
}

static int check_new(const struct gw_sched *sched, const struct gw_job *job,
                     const struct gw_msg_spec *spec, struct gw_error *error)
{
    if (spec->kind != GW_SPEC_FUNCTION || spec->ranks > 0 || job->specs.count > 0)
        return gw_error_set(error, GW_EINVAL,
                            "a job that creates an actor must have exactly one task, and this task "
                            "must be a function");
    const struct gw_actor *known = spec->actor_name && *spec->actor_name
                                       ? find_named(sched, job->uid, spec->actor_name)
                                       : NULL;
    if (known)
        return gw_error_set(error, GW_EEXIST,
                            "an actor named %s exists already (job %llu): look it up, or choose "
                            "another name",
                            spec->actor_name, (unsigned long long)known->job->id);
    return 0;
}

static int check_call(const struct gw_sched *sched, const struct gw_job *job,
                      const struct gw_msg_spec *spec, struct gw_error *error)
{
    const struct gw_job *maker = gw_sched_job_find(sched, spec->actor);
    if (!maker || !maker->actor)
        return gw_error_set(
            error, GW_EACTOR,
            "there is no actor %llu, or it has ended: `gangway actor list` lists actors",
            (unsigned long long)spec->actor);
    if (maker->uid != job->uid)
        return gw_error_set(error, GW_EPERM,
                            "actor %llu belongs to another user: only its user may call it",
                            (unsigned long long)spec->actor);
    if (spec->kind != GW_SPEC_FUNCTION || spec->ranks > 0)
        return gw_error_set(error, GW_EINVAL,
                            "only a task function can be called on an actor, not a command or a "
                            "gang: leave `ranks` 0");
    return 0;
}

int gw_sched_actor_spec_check(const struct gw_sched *sched, const struct gw_job *job,
                              const struct gw_msg_spec *spec, struct gw_error *error)
{
    const struct gw_spec *first = job->specs.count ? &job->specs.items[0] : NULL;
    uint64_t before = first ? first->message.actor : spec->actor;
    if (before != spec->actor || before == GW_ACTOR_NEW) {
        if (first)
            return gw_error_set(error, GW_EINVAL,
                                "a job can create one actor, or call one actor, or have other "
                                "tasks: submit the others as jobs of their own");
    }
    if (spec->actor && spec->pure)
        return gw_error_set(error, GW_EINVAL,
                            "an actor and its calls cannot be pure, because an actor has state");
    if (spec->actor == GW_ACTOR_NEW)
        return check_new(sched, job, spec, error);
    return spec->actor ? check_call(sched, job, spec, error) : 0;
}

/* -- Sessions that hold an actor ----------------------------------------------------------- */

void gw_sched_actor_on_session_closed(struct gw_sched *sched, struct gw_session *session)
{
    for (struct gw_actor *actor = sched->actors; actor; actor = actor->next)
        if (gw_sched_actor_hold_of(actor, session))
            gw_sched_actor_unhold(sched, actor, session, true);
}

/* Writes why an ended actor cannot be called any more. */
static void say_why_dead(const struct gw_actor *actor, char *text, size_t bytes)
{
    char label[160];
    const struct gw_failure *failure = gw_sched_task_failure_of(actor->job, 0);
    gw_sched_actor_label(actor, label, sizeof label);
    if (!failure)
        (void)snprintf(
            text, bytes,
            "%s has ended, because no client had a handle of it any more: create a new actor",
            label);
    else if (actor->ended_with)
        (void)snprintf(text, bytes, "%s has ended with job %llu, to which its name belongs", label,
                       (unsigned long long)actor->ended_with);
    else if (failure->code == GW_ECANCELLED)
        (void)snprintf(text, bytes, "%s has ended: it was cancelled", label);
    else
        (void)snprintf(text, bytes, "%s has ended: %s", label, failure->text);
}

void gw_sched_actor_on_hold(struct gw_sched *sched, struct gw_session *session,
                            const struct gw_msg_actor_hold *message)
{
    struct gw_error error = {0};
    uint32_t uid = session->remote->uid;
    const struct gw_job *job = gw_sched_job_find(sched, message->actor);
    struct gw_actor *actor = job ? job->actor : NULL;
    char name[GW_SCOPED_NAME_FULL_BYTES];
    if (message->actor == 0) {
        if (gw_scoped_name_full(sched, session, message->name, name, &error) == 0)
            actor = find_named(sched, uid, name);
        if (error.code == 0 && !actor)
            gw_error_set(&error, GW_ENOENT,
                         "there is no actor called \"%s\": `gangway actor list` lists actors",
                         name);
    } else if (!actor || actor->job->uid != uid) {
        gw_error_set(&error, GW_EACTOR,
                     "there is no actor %llu, or it has ended: `gangway actor list` lists actors",
                     (unsigned long long)message->actor);
    }
    if (error.code == 0 && actor->state >= GW_ACTOR_ENDING) {
        error.code = GW_EACTOR;
        say_why_dead(actor, error.text, sizeof error.text);
    }
    if (error.code < 0) {
        struct gw_msg_rejected *rejected =
            &gw_sched_send(sched, session->remote, GW_MESSAGE_rejected)->rejected;
        rejected->request = message->request;
        rejected->code = error.code;
        rejected->text = gw_sched_send_text(sched, error.text);
        return;
    }
    gw_sched_actor_hold(actor, session);
    struct gw_msg_accepted *accepted =
        &gw_sched_send(sched, session->remote, GW_MESSAGE_accepted)->accepted;
    accepted->request = message->request;
    accepted->job = actor->job->id;
}

void gw_sched_actor_on_release(struct gw_sched *sched, struct gw_session *session,
                               const struct gw_msg_actor_release *message)
{
    const struct gw_job *job = gw_sched_job_find(sched, message->actor);
    struct gw_error error = {0};
    if (job && job->actor && gw_sched_actor_hold_of(job->actor, session))
        gw_sched_actor_unhold(sched, job->actor, session, message->request != 0);
    if (!message->request)
        return;
    if (job && job->actor && job->actor->holds.count)
        (void)gw_error_set(&error, GW_EEXIST,
                           "the actor goes on, because other clients have handles of it: `gangway "
                           "actor kill` ends it");
    gw_sched_send_reply(sched, session->remote, message->request, &error);
}

/* -- Task of the actor --------------------------------------------------------------------- */

void gw_sched_actor_on_ready(struct gw_sched *sched, const struct gw_worker *worker,
                             const struct gw_msg_actor_ready *message)
{
    uint32_t slot = gw_sched_attempt_slot(sched, worker, message->attempt, GW_RANK_NONE);
    if (slot == GW_NO_INDEX)
        return;
    struct gw_actor *actor = sched->attempts.items[slot].job->actor;
    if (!actor || (actor->state != GW_ACTOR_CREATING && actor->state != GW_ACTOR_RESTARTING))
        return;
    if (gw_sched_attempt_waits(&sched->attempts.items[slot]))
        gw_sched_attempt_start(sched, slot);
    gw_sched_actor_move(sched, actor, GW_ACTOR_ALIVE);
}

/* -- Consequences of changes, at the end of a step ----------------------------------------- */

void gw_sched_actors_on_nameless(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->nameless.count; i++)
        for (struct gw_actor *actor = sched->actors; actor; actor = actor->next) {
            if (actor->owner != sched->nameless.items[i])
                continue;
            gw_sched_actor_disown(sched, actor);
            if (actor->state < GW_ACTOR_ENDING)
                gw_sched_cancel_task(sched, actor->job, 0,
                                     &(struct gw_cancel){.reason = GW_KILL_CANCEL});
        }
}

static void fail_calls(struct gw_sched *sched, struct gw_actor *actor)
{
    char why[GW_ERROR_TEXT_MAX - 192], label[128], text[GW_ERROR_TEXT_MAX];
    say_why_dead(actor, why, sizeof why);
    for (size_t i = 0; i < actor->lines.count; i++) {
        struct gw_job *job;
        while ((job = gw_sched_actor_line_next(actor->lines.items[i]))) {
            uint32_t row = gw_sched_actor_line_take(job);
            gw_sched_task_label(job, row, label, sizeof label);
            (void)snprintf(text, sizeof text, "%s (task %u of job %llu): %s", label, row,
                           (unsigned long long)job->id, why);
            GW_FACT(sched, task_ended, .at = job, .job = job->id, .index = row,
                    .state = GW_TASK_FAILED, .code = GW_EACTOR, .text = text);
            gw_sched_notify_task(sched, job, row);
        }
    }
}

/* Ends an actor that no session holds and that has no wanted calls. */
static void end_unneeded(struct gw_sched *sched, struct gw_actor *actor)
{
    struct gw_job *job = actor->job;
    if (actor->state != GW_ACTOR_ALIVE) {
        gw_sched_cancel_task(sched, job, 0, &(struct gw_cancel){.reason = GW_KILL_CANCEL});
        return;
    }
    uint32_t slot = gw_sched_attempt_find(sched, job->tasks.attempt[0]);
    const struct gw_msg_spec *spec = &job->specs.items[0].message;
    gw_sched_outbox_kill(sched, sched->attempts.items[slot].worker,
                         &(struct gw_kill_row){job->tasks.attempt[0],
                                               spec->grace_ns ? spec->grace_ns : GW_GRACE_NS,
                                               GW_KILL_RELEASE});
    gw_sched_attempt_kill(sched, slot, false);
    gw_sched_actor_move(sched, actor, GW_ACTOR_ENDING);
}

void gw_sched_actors_settle(struct gw_sched *sched)
{
    while (sched->touched.count) {
        struct gw_actor *actor = gw_sched_actor_take_touched(sched);
        if (actor->state == GW_ACTOR_DEAD)
            fail_calls(sched, actor);
        else if (actor->state != GW_ACTOR_ENDING && actor->holds.count == 0 && actor->wanted == 0 &&
                 actor->job->state != GW_JOB_OPEN)
            end_unneeded(sched, actor);
        if (actor->state == GW_ACTOR_ALIVE)
            gw_sched_actor_mark_callable(sched, actor, true);
    }
}

/* -- Placing calls ------------------------------------------------------------------------- */

/* Returns how many calls may be at the actor's worker at once: enough to keep it busy for
 * GW_WINDOW_TARGET_NS. The number is kept small because these calls are lost if the worker is lost.
 */
static uint32_t window(const struct gw_actor *actor)
{
    uint64_t count = GW_WINDOW_TARGET_NS / (actor->mean_ns + 1);
    count = count > GW_WINDOW_MAX ? GW_WINDOW_MAX : count;
    count = count > actor->samples + (uint64_t)WINDOW_MIN ? actor->samples + WINDOW_MIN : count;
    return count < WINDOW_MIN ? WINDOW_MIN : (uint32_t)count;
}

static bool place_next(struct gw_sched *sched, const struct gw_line *line, struct gw_worker *worker)
{
    struct gw_job *job = gw_sched_actor_line_next(line);
    /* The calls of a session stay in order: no later call is placed while this one waits. */
    if (!job || job->awaits || job->tasks.state[job->line_row] != GW_TASK_READY)
        return false;
    uint32_t row = gw_sched_actor_line_take(job);
    uint32_t slot = gw_sched_attempt_place_task(
        sched, &(struct gw_attempt_new){.job = job,
                                        .index = row,
                                        .rank = GW_RANK_NONE,
                                        .worker = worker,
                                        .shape = job->specs.items[job->tasks.spec[row]].shape,
                                        .is_long = true,
                                        .why = GW_PLACED_CALL});
    gw_sched_outbox_assign(sched, slot);
    return true;
}

static void place_calls(struct gw_sched *sched, struct gw_actor *actor)
{
    /* Calls that were placed at the earlier worker of the actor come before later calls. */
    if (actor->returning && actor->placed > 0)
        return;
    uint32_t slot = gw_sched_attempt_find(sched, actor->job->tasks.attempt[0]);
    struct gw_worker *worker = sched->attempts.items[slot].worker;
    uint32_t most = window(actor), idle = 0;
    uint32_t lines = (uint32_t)actor->lines.count;
    while (actor->placed < most && idle < lines) {
        const struct gw_line *line = gw_sched_actor_line_turn(actor);
        uint32_t count = 0;
        while (actor->placed < most && count < TURN_CALLS && place_next(sched, line, worker))
            count++;
        idle = count ? 0 : idle + 1;
    }
}

void gw_sched_actors_place(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->callable.count; i++) {
        struct gw_actor *actor = sched->callable.items[i];
        gw_sched_actor_mark_callable(sched, actor, false);
        if (actor->state == GW_ACTOR_ALIVE && !sched->shutting_down)
            place_calls(sched, actor);
    }
    gw_sched_noted_callable(sched);
}

/* -- Explanations and consistency checks --------------------------------------------------- */

void gw_sched_actor_explain(const struct gw_job *job, uint32_t row, char *text, size_t text_bytes)
{
    const struct gw_actor *actor = job->calls_of;
    char label[160];
    uint64_t before = 0;
    for (const struct gw_job *other = job->line ? job->line->first : NULL; other && other != job;
         other = other->line_next)
        before += other->unfinished;
    for (uint32_t i = job->line_row; i < row && i < job->tasks.count; i++)
        before += job->tasks.state[i] <= GW_TASK_READY;
    gw_sched_actor_label(actor, label, sizeof label);
    if (actor->state == GW_ACTOR_ALIVE)
        (void)snprintf(
            text, text_bytes,
            "%s executes one call at a time: %u calls are at its worker, and %llu earlier "
            "calls of this client come first",
            label, actor->placed, (unsigned long long)before);
    else
        (void)snprintf(text, text_bytes, "%s is %s: gangway explain %llu says why", label,
                       gw_sm_name(&gw_sched_actor_sm, actor->state),
                       (unsigned long long)actor->job->id);
}

static void check_actor(const struct gw_sched *sched, const struct gw_actor *actor)
{
    const struct gw_job *job = actor->job;
    const struct gw_job *owner = actor->owner ? gw_sched_job_find(sched, actor->owner) : NULL;
    uint8_t task = job->tasks.count ? job->tasks.state[0] : GW_TASK_WAITING;
    assert(job->actor == actor);
    assert((actor->state == GW_ACTOR_DEAD) == (task >= GW_TASK_DONE));
    assert(!owner || (owner->uid == job->uid && owner->state != GW_JOB_ENDED && owner->names));
    assert(owner || !actor->owner);
    if (actor->state == GW_ACTOR_ALIVE)
        assert(task == GW_TASK_PLACED);
    if (actor->state == GW_ACTOR_ENDING)
        assert(task == GW_TASK_PLACED || task == GW_TASK_CANCELLING);
    if (actor->holds.count == 0 && actor->wanted == 0 && job->state != GW_JOB_OPEN)
        assert(actor->state >= GW_ACTOR_ENDING);
    for (size_t i = 0; i < actor->lines.count; i++)
        for (const struct gw_job *call = actor->lines.items[i]->first; call; call = call->line_next)
            assert(call->calls_of == actor && call->line == actor->lines.items[i] &&
                   (!call->line_next || call->line_next->id > call->id));
}

void gw_sched_actors_check(const struct gw_sched *sched)
{
    assert(sched->touched.count == 0 && sched->callable.count == 0);
    for (const struct gw_actor *actor = sched->actors; actor; actor = actor->next) {
        uint64_t wanted = 0;
        uint32_t placed = 0, jobs = 0;
        check_actor(sched, actor);
        for (const struct gw_job *job = sched->first_job; job && actor->jobs; job = job->next) {
            if (job->calls_of != actor)
                continue;
            jobs++;
            placed += job->placed;
            for (uint32_t row = 0; row < job->tasks.count; row++) {
                uint8_t state = job->tasks.state[row];
                wanted += state < GW_TASK_CANCELLING;
                if (state == GW_TASK_READY)
                    assert(job->line && job->line_row <= row);
            }
        }
        assert(jobs == actor->jobs && placed == actor->placed && wanted == actor->wanted);
    }
}
