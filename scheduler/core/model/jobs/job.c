/* Jobs.
 *
 * A job is open while its chunks arrive, runs until its last task has ended, and then stays in the
 * history. Its tables are freed in two stages: first, when it is compacted, what only running a
 * task again would need, and finally, when it is forgotten, everything. Neither happens while a
 * result of it is held or needed. */
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/account.h"

#include "scheduler/core/sched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct gw_sm_state job_states[] = {
    [GW_JOB_OPEN] = {"open", GW_SM_NEXT(GW_JOB_RUNNING)},
    [GW_JOB_RUNNING] = {"running", GW_SM_NEXT(GW_JOB_ENDED)},
    [GW_JOB_ENDED] = {"ended", GW_SM_NEXT(GW_JOB_RUNNING)},
};
struct gw_sm gw_sched_job_sm = {"job", job_states, sizeof job_states / sizeof *job_states, NULL};

struct gw_job *gw_sched_job_find(const struct gw_sched *sched, uint64_t id)
{
    uint64_t value;
    return gw_map_get(&sched->jobs, id, &value) ? (struct gw_job *)(uintptr_t)value : NULL;
}

/* -- Creation --------------------------------------------------------------------------------- */

void gw_sched_apply_job_ids(struct gw_sched *sched, const struct gw_fact_job_ids *fact)
{
    sched->job_ids_upto = fact->upto;
}

struct gw_job *gw_sched_job_new(struct gw_sched *sched, uint64_t id)
{
    struct gw_job *job = calloc(1, sizeof *job);
    GW_MUST_PTR(job);
    job->id = job->age = id;
    struct gw_job *before = sched->last_job;
    /* When restored, jobs come in the order of their acceptance. */
    while (before && before->id > id)
        before = before->prev;
    job->prev = before;
    job->next = before ? before->next : sched->first_job;
    *(before ? &before->next : &sched->first_job) = job;
    *(job->next ? &job->next->prev : &sched->last_job) = job;
    job->opened_ns = sched->restoring ? 0 : sched->now_ns;
    job->log_from = sched->event_log.told;
    sched->job_count++;
    sched->unended_jobs++;
    if (id >= sched->next_job)
        sched->next_job = id + 1;
    GW_MUST(gw_map_put(&sched->jobs, id, (uintptr_t)job));
    return job;
}

struct gw_job *gw_sched_job_open(struct gw_sched *sched, struct gw_session *session,
                                 uint64_t request)
{
    if (sched->next_job + GW_JOB_IDS_BLOCK / 2 >= sched->job_ids_upto)
        GW_FACT(sched, job_ids, .upto = sched->job_ids_upto + GW_JOB_IDS_BLOCK);
    struct gw_job *job = gw_sched_job_new(sched, sched->next_job);
    job->session = session;
    job->request = request;
    job->uid = session->remote->uid;
    if (session->age) {
        job->age = session->age;
        job->depth = session->depth;
    }
    job->user = strdup(session->remote->name);
    GW_MUST_PTR(job->user);
    job->session_next = session->jobs;
    if (session->jobs)
        session->jobs->session_prev = job;
    session->jobs = job;
    GW_MUST(gw_map_put(&session->requests, request, (uintptr_t)job));
    return job;
}

void gw_sched_job_name(struct gw_job *job, const char *name)
{
    if (job->name)
        return;
    if ((!name || !*name) && job->specs.count)
        name = job->specs.items[0].message.function;
    job->name = strdup(name && *name ? name : "job");
    GW_MUST_PTR(job->name);
}

void gw_sched_job_seal(struct gw_sched *sched, struct gw_job *job, uint64_t wall_ns)
{
    gw_sm_move(&gw_sched_job_sm, &job->state, GW_JOB_RUNNING);
    job->submitted_wall_ns = wall_ns;
    if (job->session)
        (void)gw_map_remove(&job->session->requests, job->request);
    if (job->unfinished == 0)
        GW_MUST(gw_array_push(&sched->ending, job));
    if (job->gate_failed)
        GW_MUST(gw_array_push(&sched->ungated, job->id));
    /* These results were kept, because a later task of the stream might have needed them. */
    for (uint32_t row = job->stream_rows; row < job->tasks.count; row++)
        if (job->tasks.state[row] == GW_TASK_DONE && job->tasks.users[row] == 0)
            GW_MUST(gw_array_push(&sched->idle, (struct gw_row){job, row}));
}

void gw_sched_job_set_sealed(struct gw_sched *sched, struct gw_job *job, uint64_t wall_ns)
{
    gw_sched_job_seal(sched, job, wall_ns);
}

/* Keeps a message of a detached job, as a frame, until the last message has arrived. */
void gw_sched_job_add_message(struct gw_job *job, const struct gw_message *message)
{
    job->detached = true;
    if (job->session->of_command) {
        job->age = job->id;
        job->depth = 0;
    }
    GW_MUST(gw_message_encode(message, 0, &gw_job_rare_make(job)->content));
}

void gw_sched_job_leave_session(struct gw_job *job)
{
    struct gw_session *session = job->session;
    if (!session)
        return;
    if (job->session_prev)
        job->session_prev->session_next = job->session_next;
    else
        session->jobs = job->session_next;
    if (job->session_next)
        job->session_next->session_prev = job->session_prev;
    uint64_t at;
    if (gw_map_get(&session->requests, job->request, &at) && (struct gw_job *)(uintptr_t)at == job)
        (void)gw_map_remove(&session->requests, job->request);
    job->session = NULL;
    job->session_prev = job->session_next = NULL;
}

/* -- End -------------------------------------------------------------------------------------- */

bool gw_sched_job_is_value(const struct gw_job *job)
{
    return job->specs.count && job->specs.items[0].message.kind == GW_SPEC_VALUE;
}

void gw_sched_job_ended_unlink(struct gw_sched *sched, struct gw_job *job)
{
    struct gw_ended_jobs *list = job->retained ? &sched->retained : &sched->ended;
    if (gw_sched_job_is_value(job))
        return;
    *(job->ended_prev ? &job->ended_prev->ended_next : &list->first) = job->ended_next;
    *(job->ended_next ? &job->ended_next->ended_prev : &list->last) = job->ended_prev;
    list->count--;
    list->tasks -= job->weight;
    job->retained = false;
}

/* Returns true if no limit of the history may forget an ended job: the job that submitted it goes
 * on, and may look for it by its key after a restart, or a client holds one of its results. */
static bool is_retained(const struct gw_sched *sched, const struct gw_job *job)
{
    const struct gw_job *parent = job->parent ? gw_sched_job_find(sched, job->parent) : NULL;
    return (parent && parent->state != GW_JOB_ENDED) ||
           (job->detached && job->session && job->held > 0);
}

void gw_sched_job_ended_link(struct gw_sched *sched, struct gw_job *job)
{
    job->retained = is_retained(sched, job);
    struct gw_ended_jobs *list = job->retained ? &sched->retained : &sched->ended;
    job->ended_prev = list->last;
    job->ended_next = NULL;
    *(list->last ? &list->last->ended_next : &list->first) = job;
    list->last = job;
    list->count++;
    /* The table of such a range shrinks by itself. */
    job->weight = job->tasks.forgets ? 1 : job->tasks.count;
    list->tasks += job->weight;
}

void gw_sched_job_ended_revisit(struct gw_sched *sched, struct gw_job *job)
{
    if (job->retained == is_retained(sched, job))
        return;
    gw_sched_job_ended_unlink(sched, job);
    gw_sched_job_ended_link(sched, job);
}

void gw_sched_job_revisit_all(struct gw_sched *sched, const struct gw_ended_jobs *list)
{
    struct gw_job *job = list->first, *next;
    for (; job; job = next) {
        next = job->ended_next;
        gw_sched_job_ended_revisit(sched, job);
    }
}

void gw_sched_job_reopen(struct gw_sched *sched, struct gw_job *job)
{
    gw_sched_job_ended_unlink(sched, job);
    gw_sm_move(&gw_sched_job_sm, &job->state, GW_JOB_RUNNING);
    job->ended_number = 0;
    job->ended_wall_ns = 0;
    sched->unended_jobs++;
    gw_account_rejoin(job);
    if (job->has_children)
        gw_sched_job_revisit_all(sched, &sched->ended);
}

bool gw_sched_job_shown_ended(const struct gw_sched *sched, const struct gw_job *job)
{
    return job->state == GW_JOB_ENDED && job->ended_number <= sched->committed;
}

void gw_sched_job_see_progress(struct gw_job *job, uint32_t index,
                               const struct gw_msg_progress *progress)
{
    if (!job->progress) {
        job->progress = malloc(sizeof *job->progress);
        GW_MUST_PTR(job->progress);
    }
    double fraction = progress->fraction;
    job->progress->index = index;
    job->progress->fraction = fraction >= 0 ? (fraction <= 1 ? fraction : 1) : 0; /* NaN: 0 */
    (void)snprintf(job->progress->text, sizeof job->progress->text, "%s", progress->text);
}

/* -- Look-ups --------------------------------------------------------------------------------- */

bool gw_sched_job_knows(const struct gw_sched *sched, uint64_t job)
{
    return gw_sched_job_find(sched, job) != NULL;
}

static bool is_hash(struct gw_bin a, struct gw_bin b)
{
    return a.size && a.size == b.size && memcmp(a.data, b.data, b.size) == 0;
}

bool gw_sched_job_names_content(const struct gw_sched *sched, struct gw_bin hash)
{
    for (const struct gw_job *job = sched->first_job; job; job = job->next)
        for (size_t i = 0; i < job->specs.count; i++)
            if (is_hash(job->specs.items[i].message.program, hash) ||
                is_hash(job->specs.items[i].message.files, hash))
                return true;
    return false;
}

bool gw_sched_job_uses_files(const struct gw_sched *sched, struct gw_bin hash)
{
    for (const struct gw_job *job = sched->first_job; job; job = job->next)
        for (size_t i = 0; i < job->specs.count; i++) {
            if (job->state == GW_JOB_ENDED && !job->session)
                break; /* no result of this job can be requested or lost any more */
            if (is_hash(job->specs.items[i].message.files, hash))
                return true;
        }
    return false;
}

/* -- Keys ------------------------------------------------------------------------------------- */

/* The key is part of the first spec of a job, which is on disk for a detached job. The table maps
 * hashes of keys to jobs. The spec decides whether the job really has the key. */

const char *gw_sched_job_key(const struct gw_job *job)
{
    const char *key = job->specs.count ? job->specs.items[0].message.job_key : NULL;
    return key ? key : "";
}

/* One step of the hash FNV-1a over a text with its end. */
static uint64_t add_text(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    while (*text++);
    return hash;
}

static uint64_t hash_of(uint32_t uid, const char *user, const char *key)
{
    return add_text(add_text(UINT64_C(14695981039346656037) ^ uid, user), key);
}

struct gw_job *gw_sched_job_key_find(const struct gw_sched *sched, uint32_t uid, const char *user,
                                     const char *key)
{
    uint64_t id;
    if (!key || !*key || !gw_map_get(&sched->job_keys, hash_of(uid, user, key), &id))
        return NULL;
    struct gw_job *job = gw_sched_job_find(sched, id);
    return job && job->uid == uid && strcmp(job->user, user) == 0 &&
                   strcmp(gw_sched_job_key(job), key) == 0
               ? job
               : NULL;
}

void gw_sched_job_key_add(struct gw_sched *sched, const struct gw_job *job)
{
    const char *key = gw_sched_job_key(job);
    if (*key)
        GW_MUST(gw_map_put(&sched->job_keys, hash_of(job->uid, job->user, key), job->id));
}

void gw_sched_job_key_remove(struct gw_sched *sched, const struct gw_job *job)
{
    const char *key = gw_sched_job_key(job);
    if (*key && gw_sched_job_key_find(sched, job->uid, job->user, key) == job)
        (void)gw_map_remove(&sched->job_keys, hash_of(job->uid, job->user, key));
}

/* -- Rare fields ------------------------------------------------------------------------------ */

struct gw_job_rare *gw_job_rare_make(struct gw_job *job)
{
    if (!job->rare) {
        job->rare = calloc(1, sizeof *job->rare);
        GW_MUST_PTR(job->rare);
    }
    return job->rare;
}

void gw_job_rare_free(struct gw_job *job)
{
    struct gw_job_rare *rare = job->rare;
    if (!rare)
        return;
    gw_map_deinit(&rare->names);
    gw_map_deinit(&rare->checkpoints);
    gw_map_deinit(&rare->wents);
    gw_map_deinit(&rare->asks);
    gw_map_deinit(&rare->shares);
    gw_map_deinit(&rare->pures);
    gw_buffer_deinit(&rare->content);
    gw_array_deinit(&rare->followers);
    gw_array_deinit(&rare->befores);
    gw_map_deinit(&rare->metrics);
    gw_map_deinit(&rare->ran);
    free(rare);
    job->rare = NULL;
}
