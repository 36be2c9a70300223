/* Starts trials. The search names as many as there is room for, and these are submitted as one
 * batch, because the scheduler writes each detached job to disk before it answers.
 *
 * A trial that no worker can ever run, for example a gang that is too large, fails. Because the
 * record of each trial is its job, a job takes its place that only says why, and fails.
 *
 * If trials have different sizes, one that ends is followed by one of the same size, so that a gang
 * starts on the GPUs that another one has left, and no small trials must end first. Until the
 * search names one of this size, up to HELD others are held back. */
#include "client/sweep/controller/sweep.h"

#include "client/sweep/controller/sweep_events.h"
#include "client/sweep/controller/trial_record.h"
#include "graph/base/clock.h"
#include "graph/base/options_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 64,
    FILLS = 2, /* as many trials are submitted as fill the cluster so many times */
    HELD = 8,  /* trials that were named and are not submitted yet */
    HELD_BYTES =
        (BATCH + HELD) * 32, /* text of what is held: also of a batch that was not answered */
    START_MS = 20, /* as many more are live as end in this time, because so long a start may take */
};

/* The job of a pending trial. */
struct gw_sweep_job {
    char annotations[GW_TRIAL_RECORD_BYTES];
    char key[GW_SWEEP_NAME_MAX + 32];
    struct gw_submit_options options;
    struct gw_sweep_task task;
    struct gw_graph *graph;
    bool defines; /* it has the definition of the sweep */
};

static void free_job(struct gw_sweep_job *job)
{
    if (job)
        gw_graph_free(job->graph);
    free(job);
}

uint64_t gw_sweep_start_elapsed_ns(const struct gw_sweep *sweep)
{
    return sweep->began_wall_ns ? gw_clock_wall_ns() - sweep->began_wall_ns : 0;
}

/* -- What live trials use --- */

static bool has_size(const struct gw_sweep_task *task, const struct gw_sweep_size *size)
{
    return task->slots == size->slots && task->gpus == size->gpus;
}

static void see_size(struct gw_sweep *sweep, const struct gw_sweep_task *task)
{
    if (!sweep->sized)
        sweep->first = (struct gw_sweep_size){task->slots, task->gpus};
    sweep->sized = true;
    sweep->mixed |= !has_size(task, &sweep->first);
}

static void count_task(struct gw_sweep *sweep, struct gw_sweep_state_trial *trial,
                       const struct gw_sweep_task *task)
{
    trial->slots = task->slots;
    trial->gpus = task->gpus;
    sweep->used_slots += task->slots;
    sweep->used_gpus += task->gpus;
}

void gw_sweep_start_drop(struct gw_sweep *sweep, struct gw_sweep_state_trial *trial)
{
    sweep->used_slots -= trial->slots;
    sweep->used_gpus -= trial->gpus;
    trial->slots = trial->gpus = 0;
    trial->future = NULL;
}

void gw_sweep_start_ended(struct gw_sweep *sweep, struct gw_sweep_state_trial *trial)
{
    const struct gw_sweep_size size = {trial->slots, trial->gpus};
    gw_sweep_start_drop(sweep, trial);
    if (sweep->mixed && (size.slots || size.gpus) && sweep->freed.count < BATCH)
        (void)gw_array_push(&sweep->freed, size); /* without memory, any trial follows */
}

/* Returns how many trials have ended in an interval of START_MS: the present one, or the one before
 * if that was more. */
static uint64_t recent_ends(struct gw_sweep *sweep)
{
    const uint64_t now_ns = gw_clock_now_ns(), passed_ns = now_ns - sweep->interval_ns;
    const uint64_t ends = sweep->ended - sweep->interval_ended;
    if (passed_ns >= START_MS * GW_NS_PER_MS) {
        sweep->interval_ends = ends * START_MS * GW_NS_PER_MS / passed_ns;
        sweep->interval_ended = sweep->ended;
        sweep->interval_ns = now_ns;
        return sweep->interval_ends;
    }
    return ends > sweep->interval_ends ? ends : sweep->interval_ends;
}

static bool has_room(struct gw_sweep *sweep)
{
    struct gw_sweep_pending *pending;
    size_t live = sweep->state.live.count; /* without those that are held */
    GW_ARRAY_EACH (&sweep->pending, pending)
        live -= !pending->chosen;
    if (live >= GW_SWEEP_EVENTS_JOBS_MAX) /* so that their events come in order */
        return false;
    if (sweep->options.parallel)
        return live < sweep->options.parallel;
    return live == 0 ||
           (sweep->used_slots < FILLS * sweep->slots &&
            (sweep->used_gpus == 0 || sweep->used_gpus < FILLS * sweep->gpus)) ||
           (!sweep->learns && live < recent_ends(sweep));
}

/* -- The job of a trial --- */

/* Adds a trial of a function to a graph. */
static int make_call(struct gw_sweep *sweep, const struct gw_trial *trial, struct gw_graph *graph,
                     struct gw_sweep_task *task, struct gw_error *error)
{
    struct gw_task_options options = GW_INIT(gw_task_options);
    int rc = GW_OPTIONS_READ(&options, sweep->options.options, gw_task_options, error);
    if (rc < 0)
        return rc;
    options.annotations = task->annotations;
    options.until_step = task->until_step ? task->until_step : options.until_step;
    struct gw_value *params = gw_value_ref(trial->params);
    const uint32_t ranks = options.ranks ? options.ranks : 1;
    task->slots = ranks * (options.slots ? options.slots : 1);
    task->gpus = options.gpu.count > 0 ? ranks * (uint32_t)options.gpu.count : 0;
    task->node = gw_graph_call(graph, sweep->options.function, &options, &params, 1);
    return 0;
}

/* In place of a trial that the cluster cannot run: a command without a slot, which fails. */
static int make_unfit(const char *why, struct gw_graph *graph, struct gw_sweep_task *task)
{
    const char *const argv[] = {"sh", "-c", "echo \"$0\" >&2; exit 1", why, NULL};
    task->node = gw_graph_command(graph, GW_COMMAND(.argv = argv),
                                  GW_OPTIONS(.slots = GW_NONE, .annotations = task->annotations));
    return 0;
}

static int make_task(struct gw_sweep *sweep, const struct gw_trial *trial, struct gw_graph *graph,
                     struct gw_sweep_task *task, struct gw_error *error)
{
    return sweep->options.make ? sweep->options.make(trial, graph, task, sweep->options.arg, error)
                               : make_call(sweep, trial, graph, task, error);
}

/* Writes which starts before this one and its batch are held. */
static void write_held(const struct gw_sweep *sweep, const struct gw_sweep_pending *pending,
                       char text[static HELD_BYTES])
{
    const struct gw_sweep_pending *other;
    size_t used = 0;
    text[0] = '\0';
    GW_ARRAY_EACH (&sweep->pending, other)
        if (other->start < pending->batch && used < HELD_BYTES)
            used += (size_t)snprintf(text + used, HELD_BYTES - used, "%s%" PRIu32 ":%" PRIu64,
                                     used ? " " : "", other->start, other->seen);
}

static int write_record(const struct gw_sweep *sweep, const struct gw_sweep_pending *pending,
                        struct gw_sweep_job *job, struct gw_error *error)
{
    char held[HELD_BYTES];
    const char *definition = sweep->options.definition;
    const struct gw_trial *trial = pending->trial->shown.trial;
    char *params = gw_trial_record_params(trial->params);
    if (!params)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    write_held(sweep, pending, held);
    job->defines = definition && (!sweep->stored || strcmp(definition, sweep->stored) != 0);
    const struct gw_trial_record record = {.start = pending->start,
                                           .batch = pending->batch,
                                           .trial = trial->number,
                                           .seen = pending->seen,
                                           .params = params,
                                           .held = held,
                                           .definition = job->defines ? definition : NULL,
                                           .unfit = pending->trial->unfit};
    const int rc = gw_trial_record_write(&record, sweep->options.name, job->annotations, error);
    free(params);
    return rc;
}

/* Makes the job of a pending trial. */
static int make_job(struct gw_sweep *sweep, struct gw_sweep_pending *pending,
                    struct gw_error *error)
{
    struct gw_sweep_job *job = calloc(1, sizeof *job);
    if (!job || !(job->graph = gw_graph_new())) {
        free_job(job);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    job->task = (struct gw_sweep_task){
        .annotations = job->annotations, .until_step = pending->trial->until, .starts = true};
    int rc = write_record(sweep, pending, job, error);
    if (rc == 0)
        rc = pending->trial->unfit
                 ? make_unfit(pending->trial->unfit, job->graph, &job->task)
                 : make_task(sweep, pending->trial->shown.trial, job->graph, &job->task, error);
    if (rc < 0) {
        free_job(job);
        return rc;
    }
    (void)snprintf(job->key, sizeof job->key, "sweep/%s/%" PRIu32, sweep->options.name,
                   pending->start);
    job->options = (struct gw_submit_options)GW_INIT(
        gw_submit_options, .name = job->task.name ? job->task.name : sweep->options.name,
        .detached = !sweep->options.attached, .key = sweep->options.attached ? NULL : job->key,
        .account = sweep->options.account, .queue = sweep->options.queue);
    if (!pending->trial->unfit)
        see_size(sweep, &job->task);
    pending->job = job;
    return 0;
}

/* Replaces the job of a pending trial that the cluster has refused. */
static int make_unfit_job(struct gw_sweep *sweep, struct gw_sweep_pending *pending, const char *why,
                          struct gw_error *error)
{
    gw_sweep_start_drop(sweep, pending->trial);
    free_job(pending->job);
    pending->job = NULL;
    return gw_sweep_state_unfit(pending->trial, why) < 0
               ? gw_error_set(error, GW_ENOMEM, "out of memory")
               : make_job(sweep, pending, error);
}

/* -- Pending trials --- */

int gw_sweep_start_missing(struct gw_sweep *sweep, struct gw_sweep_state_trial *trial,
                           uint64_t seen)
{
    const uint32_t start = sweep->state.starts - 1;
    return gw_array_push(
        &sweep->pending,
        ((struct gw_sweep_pending){.trial = trial, .start = start, .batch = start, .seen = seen}));
}

void gw_sweep_start_withdraw(struct gw_sweep *sweep)
{
    struct gw_sweep_pending *pending;
    GW_ARRAY_EACH (&sweep->pending, pending) {
        gw_sweep_start_drop(sweep, pending->trial);
        gw_sweep_state_withdraw(&sweep->state, pending->trial);
        free_job(pending->job);
    }
    gw_array_clear(&sweep->pending);
}

void gw_sweep_start_deinit(struct gw_sweep *sweep)
{
    struct gw_sweep_pending *pending;
    GW_ARRAY_EACH (&sweep->pending, pending)
        free_job(pending->job);
    gw_array_deinit(&sweep->pending);
    gw_array_deinit(&sweep->freed);
}

/* Asks the search for a trial, which becomes pending. GW_EAGAIN and GW_ENOENT: as of the search. */
static int ask(struct gw_sweep *sweep, uint32_t batch, struct gw_error *error)
{
    struct gw_sweep_state_trial *trial = NULL;
    if (!sweep->began_wall_ns)
        sweep->began_wall_ns = gw_clock_wall_ns();
    if (gw_array_reserve(&sweep->pending, 1) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    const int rc =
        gw_sweep_state_start(&sweep->state, gw_sweep_start_elapsed_ns(sweep), &trial, error);
    if (rc < 0)
        return rc;
    struct gw_sweep_pending *pending = &sweep->pending.items[sweep->pending.count++];
    *pending = (struct gw_sweep_pending){.trial = trial,
                                         .start = sweep->state.starts - 1,
                                         .batch = batch,
                                         .seen = sweep->state.seen};
    return make_job(sweep, pending, error);
}

/* Finds the oldest held trial that has this size (NULL: any size). */
static struct gw_sweep_pending *find_held(struct gw_sweep *sweep, const struct gw_sweep_size *size)
{
    struct gw_sweep_pending *pending;
    GW_ARRAY_EACH (&sweep->pending, pending)
        if (!pending->chosen && (!size || has_size(&pending->job->task, size)))
            return pending;
    return NULL;
}

static size_t count_held(const struct gw_sweep *sweep)
{
    const struct gw_sweep_pending *pending;
    size_t count = 0;
    GW_ARRAY_EACH (&sweep->pending, pending)
        count += !pending->chosen;
    return count;
}

/* Chooses the trial that is submitted next; *pending becomes NULL if there is none now. */
static int choose(struct gw_sweep *sweep, uint32_t batch, bool *over,
                  struct gw_sweep_pending **pending, struct gw_error *error)
{
    const bool any = sweep->freed.count == 0;
    const struct gw_sweep_size size = any ? sweep->first : sweep->freed.items[0];
    int rc = 0;
    *pending = find_held(sweep, any ? NULL : &size);
    while (!*pending && rc == 0 && count_held(sweep) < HELD) {
        rc = ask(sweep, batch, error);
        if (rc == 0)
            *pending = find_held(sweep, any ? NULL : &size);
    }
    *over = rc == GW_ENOENT;
    if (rc < 0 && rc != GW_EAGAIN && rc != GW_ENOENT)
        return rc;
    if (!*pending)
        *pending = find_held(sweep, NULL);
    if (*pending && !any)
        memmove(sweep->freed.items, sweep->freed.items + 1,
                --sweep->freed.count * sizeof *sweep->freed.items);
    return 0;
}

/* Chooses a batch of pending trials. *more becomes false if there is no room for others, or the
 * search names no others now. */
static int fill_batch(struct gw_sweep *sweep, bool *over, bool *more, struct gw_error *error)
{
    /* The first job has the definition of the sweep, and is to be there if any other one is. */
    const size_t most = sweep->state.starts == 0 ? 1 : BATCH;
    const uint32_t batch = sweep->state.starts;
    struct gw_sweep_pending *pending;
    size_t count = 0;
    while (count < most && (*more = has_room(sweep))) {
        const int rc = choose(sweep, batch, over, &pending, error);
        *more = rc == 0 && pending;
        if (!*more)
            return rc;
        pending->chosen = true;
        count_task(sweep, pending->trial, &pending->job->task);
        count++;
    }
    return 0;
}

/* Keeps and watches the future of a live trial; NULL: it has ended. */
static int follow(struct gw_sweep *sweep, struct gw_sweep_state_trial *trial,
                  struct gw_future *future, struct gw_error *error)
{
    size_t index;
    trial->future = future;
    if (!future)
        return 0;
    sweep->futures.items[sweep->futures.count++] = future;
    const int rc = gw_completions_add(sweep->completions, future, &index);
    return rc < 0 ? gw_error_set(error, rc, "%s", gw_error_text(rc)) : 0;
}

/* Finds the future of a job that was submitted earlier. */
static int find_future(struct gw_sweep *sweep, uint64_t job, struct gw_future **future,
                       struct gw_error *error)
{
    *future = NULL;
    if (gw_array_reserve(&sweep->futures, 1) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    const int rc = gw_client_task(sweep->client, job, 0, future, error);
    return rc == GW_ENOENT ? 0 : rc; /* it has ended, and its end will be among the events */
}

/* A pending trial was accepted. */
static int accept(struct gw_sweep *sweep, struct gw_sweep_pending *pending,
                  struct gw_future *future, struct gw_error *error)
{
    const uint64_t number = gw_future_job(future);
    if (pending->job->defines) {
        free(sweep->stored);
        sweep->stored = strdup(sweep->options.definition);
    }
    int rc = gw_sweep_state_started(&sweep->state, pending->trial, number, gw_clock_wall_ns());
    if (rc < 0)
        (void)gw_error_set(error, rc, "out of memory");
    if (pending->sent) { /* maybe before: then this future is of no job */
        gw_future_release(future);
        future = NULL;
        rc = rc < 0 ? rc : find_future(sweep, number, &future, error);
    }
    const int followed = follow(sweep, pending->trial, future, rc == 0 ? error : NULL);
    return rc < 0 ? rc : followed;
}

/* Looks at the answers to a batch. A trial that the cluster cannot run gets another job; *again
 * becomes true. Returns 0 or the first error of the others. */
static int replace_unfit(struct gw_sweep *sweep, const struct gw_submit_job *jobs, size_t count,
                         bool *again, struct gw_error *error)
{
    struct gw_sweep_pending *pending;
    size_t at = 0;
    int rc = 0;
    GW_ARRAY_EACH (&sweep->pending, pending) {
        const struct gw_error *why = pending->chosen && at < count ? &jobs[at++].error : NULL;
        if (!why || why->code == 0 || rc < 0)
            continue;
        if (why->code != GW_EINFEASIBLE || pending->trial->unfit)
            rc = gw_error_set(error, why->code, "%s", why->text);
        else
            rc = make_unfit_job(sweep, pending, why->text, error);
        *again |= rc == 0;
    }
    return rc;
}

/* Submits the chosen trials. Those that are not accepted stay pending, and chosen; *again becomes
 * true if some of them can be submitted at once. */
static int submit_batch(struct gw_sweep *sweep, bool *again, struct gw_error *error)
{
    struct gw_submit_job jobs[BATCH];
    struct gw_sweep_pending *pending;
    struct gw_error other;
    size_t count = 0, at = 0, left = 0;
    GW_ARRAY_EACH (&sweep->pending, pending)
        if (pending->chosen && count < BATCH)
            jobs[count++] = (struct gw_submit_job){.graph = pending->job->graph,
                                                   .options = &pending->job->options,
                                                   .node = pending->job->task.node};
    if (gw_array_reserve(&sweep->futures, count) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    *again = false;
    int rc = gw_client_submit_jobs(sweep->client, jobs, count, error);
    if (rc == GW_EINFEASIBLE)
        rc = replace_unfit(sweep, jobs, count, again, error);
    for (size_t i = 0; i < sweep->pending.count; i++) {
        struct gw_sweep_pending taken = sweep->pending.items[i];
        struct gw_future *future = NULL;
        if (taken.chosen && at < count) {
            taken.sent |= jobs[at].error.code != GW_EINFEASIBLE;
            future = jobs[at++].future;
        }
        if (!future) {
            sweep->pending.items[left++] = taken;
            continue;
        }
        taken.sent = sweep->pending.items[i].sent;
        const int accepted = accept(sweep, &taken, future, rc == 0 ? error : &other);
        rc = rc < 0 ? rc : accepted;
        free_job(taken.job);
    }
    sweep->pending.count = left;
    return rc;
}

/* Makes the jobs of trials that are pending from an earlier run, and counts those that were chosen.
 */
static int make_pending_jobs(struct gw_sweep *sweep, bool *chosen, struct gw_error *error)
{
    struct gw_sweep_pending *pending;
    int rc = 0;
    GW_ARRAY_EACH (&sweep->pending, pending) {
        if (rc == 0 && !pending->job)
            rc = make_job(sweep, pending, error);
        if (rc == 0 && pending->chosen && !pending->trial->slots && !pending->trial->gpus)
            count_task(sweep, pending->trial, &pending->job->task);
        *chosen |= pending->chosen;
    }
    return rc;
}

int gw_sweep_start_trials(struct gw_sweep *sweep, bool *over, struct gw_error *error)
{
    bool more = true, chosen = false;
    int rc = make_pending_jobs(sweep, &chosen, error);
    while (rc == 0 && (more || chosen)) {
        if (!chosen)
            rc = fill_batch(sweep, over, &more, error);
        if (rc == 0 && sweep->pending.count)
            rc = submit_batch(sweep, &chosen, error);
        else
            chosen = false;
    }
    return rc;
}

int gw_sweep_start_watch(struct gw_sweep *sweep, struct gw_sweep_state_trial *trial,
                         struct gw_error *error)
{
    struct gw_sweep_task task = {.annotations = "", .until_step = trial->until};
    struct gw_graph *graph = gw_graph_new();
    struct gw_future *future = NULL;
    int rc = trial->unfit ? 0 : make_task(sweep, trial->shown.trial, graph, &task, error);
    gw_graph_free(graph);
    if (rc == 0)
        rc = find_future(sweep, trial->shown.job, &future, error);
    if (rc < 0 || !future)
        return rc;
    if (!trial->unfit)
        see_size(sweep, &task);
    count_task(sweep, trial, &task);
    if (gw_sweep_state_cancels(trial))
        (void)gw_job_cancel(sweep->client, trial->shown.job, false, NULL);
    return follow(sweep, trial, future, error);
}
