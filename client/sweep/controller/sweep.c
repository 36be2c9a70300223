/* Runs a sweep.
 *
 * Invariant: the state changes only by starts and by events in the order of their numbers, and each
 * start is recorded with the number of the last event before it. Futures and timeouts only say when
 * to ask for events. */
#include "client/sweep/controller/sweep.h"

#include "client/sweep/controller/sweep_events.h"
#include "client/sweep/controller/trial_record.h"
#include "client/sweep/search/state.h"
#include "graph/base/clock.h"
#include "graph/base/log.h"
#include "graph/base/options_read.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    ASK_AGAIN_MS = 2,  /* a task has ended, but its end is not numbered yet */
    REPORTS_MS = 50,   /* between two looks at reports, if decisions depend on them */
    CHANGES_MS = 250,  /* otherwise */
    CLUSTER_MS = 1000, /* between two looks at the size of the cluster and at stop requests */
    LOCK_MS = 3000,
    CANCEL_WAIT_S = 330, /* for the ends of cancelled trials */
};

/* -- New and free --- */

static bool is_name(const char *name)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    return name && *name && strlen(name) <= GW_SWEEP_NAME_MAX &&
           strspn(name, letters) == strlen(name);
}

static int check_options(const struct gw_sweep_options *options,
                         const struct gw_search_options *search, struct gw_error *error)
{
    if (!is_name(options->name))
        return gw_error_set(error, GW_EINVAL,
                            "the name of a sweep has 1 to %d letters, digits, '_', '-' and '.', "
                            "not \"%s\"",
                            GW_SWEEP_NAME_MAX, options->name ? options->name : "");
    if (!options->function == !options->make)
        return gw_error_set(error, GW_EINVAL, "a sweep needs either a function or `make`");
    if (!options->metric && search && search->pruner)
        return gw_error_set(error, GW_EINVAL,
                            "to end trials early, a sweep needs the name of a metric that they "
                            "report");
    if (options->definition && strlen(options->definition) > GW_SWEEP_DEFINITION_MAX)
        return gw_error_set(error, GW_ELIMIT,
                            "the definition of the sweep has %zu bytes, at most %d are possible: "
                            "put options of the command into a file or script",
                            strlen(options->definition), GW_SWEEP_DEFINITION_MAX);
    return 0;
}

/* Copies a text that may be NULL. */
static int copy(const char **text)
{
    if (*text && !(*text = strdup(*text)))
        return GW_ENOMEM;
    return 0;
}

int gw_sweep_new(struct gw_space *space, const struct gw_search_options *search,
                 const struct gw_sweep_options *options, struct gw_sweep **sweep,
                 struct gw_error *error)
{
    struct gw_sweep_options read;
    struct gw_search_options searched;
    *sweep = NULL;
    int rc = GW_OPTIONS_READ(&read, options, gw_sweep_options, error);
    if (rc == 0)
        rc = GW_OPTIONS_READ(&searched, search, gw_search_options, error);
    if (rc == 0)
        rc = check_options(&read, &searched, error);
    if (rc < 0) {
        gw_space_free(space);
        return rc;
    }
    struct gw_search *made_search = NULL;
    rc = gw_search_new(space, search, &made_search, error);
    if (rc < 0)
        return rc;
    struct gw_sweep *made = calloc(1, sizeof *made);
    if (!made) {
        gw_search_free(made_search);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    made->options = read;
    made->spare = made_search;
    made->max_steps = searched.max_steps;
    made->learns = searched.method == GW_SEARCH_TPE || searched.pruner != GW_PRUNE_NOTHING ||
                   searched.failures || searched.patience || searched.time_limit_ns ||
                   searched.has_target;
    made->decides = searched.pruner != GW_PRUNE_NOTHING;
    if ((copy(&made->options.name) | copy(&made->options.metric) | copy(&made->options.definition) |
         copy(&made->options.mlflow) | copy(&made->options.mlflow_experiment) |
         copy(&made->options.account) | copy(&made->options.queue)) < 0) {
        gw_sweep_free(made); /* frees what was copied: a failed copy is NULL */
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    *sweep = made;
    return 0;
}

void gw_sweep_free(struct gw_sweep *sweep)
{
    if (!sweep)
        return;
    gw_sweep_state_deinit(&sweep->state);
    gw_search_free(sweep->spare);
    gw_sweep_start_deinit(sweep);
    gw_sweep_feed_close(sweep->feed);
    free((void *)(uintptr_t)sweep->options.name);
    free((void *)(uintptr_t)sweep->options.metric);
    free((void *)(uintptr_t)sweep->options.definition);
    free((void *)(uintptr_t)sweep->options.mlflow);
    free((void *)(uintptr_t)sweep->options.mlflow_experiment);
    free((void *)(uintptr_t)sweep->options.account);
    free((void *)(uintptr_t)sweep->options.queue);
    free(sweep->stored);
    free(sweep);
}

void gw_sweep_stop(struct gw_sweep *sweep)
{
    sweep->stopping = 1;
}

/* -- Look-ups --- */

uint32_t gw_sweep_count(const struct gw_sweep *sweep)
{
    return (uint32_t)sweep->state.trials.count;
}

const struct gw_sweep_trial *gw_sweep_trial(const struct gw_sweep *sweep, uint32_t number)
{
    return number < sweep->state.trials.count ? &sweep->state.trials.items[number]->shown : NULL;
}

const struct gw_search *gw_sweep_search(const struct gw_sweep *sweep)
{
    return sweep->state.search;
}

int gw_sweep_best(const struct gw_sweep *sweep, const struct gw_sweep_trial **trial,
                  struct gw_error *error)
{
    const struct gw_trial *best = NULL;
    *trial = NULL;
    int rc = sweep->state.search ? gw_search_best(sweep->state.search, &best, error)
                                 : gw_error_set(error, GW_ENOENT, "the sweep has no trial yet");
    if (rc == 0)
        *trial = gw_sweep_trial(sweep, best->number);
    return rc;
}

/* -- Events --- */

static double result_of(struct gw_future *future)
{
    struct gw_value *value = NULL;
    double result = NAN;
    if (future && gw_future_get(future, 0, &value, NULL) == 0)
        (void)gw_value_get_f64(value, &result, NULL);
    gw_value_unref(value);
    return result;
}

static int handle_event(void *arg, const struct gw_sweep_event *event, struct gw_error *error)
{
    struct gw_sweep *sweep = arg;
    struct gw_sweep_event copy = *event;
    uint64_t number, cancel;
    if (event->end && gw_map_get(&sweep->state.jobs, event->job, &number)) {
        struct gw_sweep_state_trial *trial = sweep->state.trials.items[number];
        if (!sweep->options.metric && strcmp(event->end, "done") == 0)
            copy.value = result_of(trial->future);
        gw_sweep_start_ended(sweep, trial);
        sweep->ended++;
    }
    gw_sweep_feed_event(sweep, sweep->feed, &copy);
    int rc = gw_sweep_state_handle(&sweep->state, &copy, &cancel, error);
    if (rc == 0 && cancel)
        rc = gw_job_cancel(sweep->client, cancel, false, error);
    return rc == GW_ENOENT ? 0 : rc;
}

static int read_events(struct gw_sweep *sweep, bool *changed, struct gw_error *error)
{
    const uint64_t seen = sweep->state.seen;
    uint64_t *jobs = calloc(sweep->state.live.count + 1, sizeof *jobs);
    struct gw_sweep_state_trial **trial;
    size_t count = 0;
    if (!jobs)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    GW_ARRAY_EACH (&sweep->state.live, trial)
        if ((*trial)->shown.job)
            jobs[count++] = (*trial)->shown.job;
    const int rc =
        gw_sweep_events_read(sweep->client, jobs, count, seen, handle_event, sweep, error);
    free(jobs);
    *changed |= sweep->state.seen != seen;
    return rc;
}

/* -- The loop --- */

static int look_at_cluster(struct gw_sweep *sweep, struct gw_error *error)
{
    struct gw_value *status = NULL;
    int64_t slots = 0, gpus = 0;
    char name[GW_SWEEP_NAME_MAX + 16];
    if (sweep->asked_ns && gw_clock_now_ns() - sweep->asked_ns < CLUSTER_MS * GW_NS_PER_MS)
        return 0;
    sweep->asked_ns = gw_clock_now_ns();
    int rc = gw_client_query(sweep->client, "status", NULL, &status, error);
    if (rc < 0)
        return rc;
    (void)gw_value_get_i64(gw_value_find(status, "slots"), &slots, NULL);
    (void)gw_value_get_i64(gw_value_find(status, "gpus"), &gpus, NULL);
    gw_value_unref(status);
    sweep->slots = (uint64_t)slots;
    sweep->gpus = (uint64_t)gpus;
    (void)snprintf(name, sizeof name, "sweep/%s/stop", sweep->options.name);
    rc = gw_event_wait(sweep->client, name, 0, error);
    if (rc == 0) {
        sweep->stopping = 1;
        (void)gw_event_clear(sweep->client, name, NULL);
    }
    return rc == GW_ETIMEDOUT ? 0 : rc;
}

/* Waits until there may be events. */
static int wait_for_events(struct gw_sweep *sweep, struct gw_error *error)
{
    uint64_t timeout_ns = (sweep->decides ? REPORTS_MS : CHANGES_MS) * GW_NS_PER_MS;
    size_t index;
    if (sweep->ended < sweep->returned) {
        nanosleep(&(struct timespec){.tv_nsec = ASK_AGAIN_MS * (long)GW_NS_PER_MS}, NULL);
        timeout_ns = 0;
    }
    int rc = gw_completions_next(sweep->completions, timeout_ns, &index);
    for (; rc == 0; sweep->returned++)
        rc = gw_completions_next(sweep->completions, 0, &index);
    return rc == GW_ETIMEDOUT || rc == GW_ENOENT ? 0
                                                 : gw_error_set(error, rc, "%s", gw_error_text(rc));
}

static void cancel_live(struct gw_sweep *sweep)
{
    struct gw_sweep_state_trial **trial;
    GW_ARRAY_EACH (&sweep->state.live, trial)
        if ((*trial)->shown.job)
            (void)gw_job_cancel(sweep->client, (*trial)->shown.job, false, NULL);
    gw_sweep_start_withdraw(sweep);
}

static int run(struct gw_sweep *sweep, struct gw_error *error)
{
    bool over = false, changed = false, cut = false;
    for (;;) {
        int rc = read_events(sweep, &changed, error);
        if (rc == 0)
            rc = look_at_cluster(sweep, error);
        if (rc < 0)
            return rc;
        if (sweep->stopping)
            return gw_error_set(error, GW_ECANCELLED, "the sweep %s was stopped",
                                sweep->options.name);
        if (sweep->state.silent != UINT32_MAX && sweep->state.reported == 0)
            return gw_error_set(
                error, GW_EINVAL, "trial %" PRIu32 " (job %" PRIu64 ") succeeded, but %s%s%s%s",
                sweep->state.silent, sweep->state.trials.items[sweep->state.silent]->shown.job,
                sweep->options.metric ? "it never reported the metric " : "its result is no number",
                sweep->options.metric ? sweep->options.metric : "",
                sweep->options.metric && sweep->options.make
                    ? ": use `gangway report`, or print it and give --metric "
                    : "",
                sweep->options.metric && sweep->options.make ? sweep->options.metric : "");
        const uint32_t starts = sweep->state.starts;
        if (!cut && gw_search_is_cut(sweep->state.search, gw_sweep_start_elapsed_ns(sweep))) {
            cancel_live(sweep);
            over = cut = true;
        }
        rc = cut ? 0 : gw_sweep_start_trials(sweep, &over, error);
        if (rc < 0)
            return rc;
        changed |= starts != sweep->state.starts;
        if (changed)
            sweep->fed = gw_sweep_feed_trials(sweep, sweep->feed, sweep->fed);
        if (sweep->feed && !sweep->submitted_ns)
            rc = gw_sweep_feed_identify(sweep, sweep->client, sweep->feed, error);
        if (rc < 0)
            return rc;
        if (changed && sweep->options.on_change)
            sweep->options.on_change(sweep, sweep->options.arg);
        changed = false;
        if (over && sweep->state.live.count == 0)
            return 0;
        rc = wait_for_events(sweep, error);
        if (rc < 0)
            return rc;
    }
}

/* -- Begin and end --- */

/* Makes the state again. Trials that were cancelled when the sweep was stopped start again, unless
 * a limit has ended the sweep. */
static int load(struct gw_sweep *sweep, struct gw_client *client, struct gw_error *error)
{
    int rc = gw_sweep_load_state(sweep, client, error);
    if (rc < 0 || gw_search_is_cut(sweep->state.search, gw_sweep_start_elapsed_ns(sweep)))
        return rc;
    if (gw_sweep_count(sweep))
        gw_log_plain(GW_LOG_INFO,
                     "gangway: ", "the sweep %s continues: trials that have ended do not run again",
                     sweep->options.name);
    for (uint32_t i = 0; rc == 0 && i < gw_sweep_count(sweep); i++)
        rc = gw_sweep_state_reopen(&sweep->state, i, error);
    return rc;
}

static int begin(struct gw_sweep *sweep, struct gw_client *client, struct gw_error *error)
{
    struct gw_sweep_state_trial **trial;
    int rc = gw_completions_new(NULL, 0, &sweep->completions);
    sweep->client = client;
    sweep->asked_ns = sweep->returned = sweep->ended = 0;
    sweep->interval_ns = sweep->interval_ended = sweep->interval_ends = 0;
    if (rc < 0)
        return gw_error_set(error, rc, "out of memory");
    if (sweep->spare && sweep->options.attached) {
        gw_sweep_state_init(&sweep->state, sweep->spare, sweep->options.metric, sweep->max_steps);
        sweep->spare = NULL;
    } else if (sweep->spare)
        rc = load(sweep, client, error);
    if (rc == 0 && sweep->feed && sweep->submitted_ns)
        rc = gw_sweep_feed_identify(sweep, client, sweep->feed, error);
    if (rc == 0)
        rc = look_at_cluster(sweep, error);
    GW_ARRAY_EACH (&sweep->state.live, trial)
        if (rc == 0 && (*trial)->shown.job)
            rc = gw_sweep_start_watch(sweep, *trial, error);
    return rc;
}

static void end(struct gw_sweep *sweep)
{
    struct gw_sweep_state_trial **trial;
    struct gw_future **future;
    gw_completions_free(sweep->completions);
    GW_ARRAY_EACH (&sweep->futures, future)
        gw_future_release(*future);
    gw_array_deinit(&sweep->futures);
    GW_ARRAY_EACH (&sweep->state.live, trial)
        gw_sweep_start_drop(sweep, *trial);
    sweep->completions = NULL;
    sweep->client = NULL;
}

/* Cancels the live trials and waits for their ends. */
static void cancel_all(struct gw_sweep *sweep)
{
    const uint64_t deadline_ns = gw_clock_now_ns() + CANCEL_WAIT_S * GW_NS_PER_S;
    bool changed = false;
    cancel_live(sweep);
    while (sweep->state.live.count && gw_clock_now_ns() < deadline_ns &&
           read_events(sweep, &changed, NULL) == 0 && wait_for_events(sweep, NULL) == 0)
        ;
}

/* A request to stop that came when the sweep did not run is void. */
static int forget_stop(const struct gw_sweep *sweep, struct gw_client *client,
                       struct gw_error *error)
{
    char name[GW_SWEEP_NAME_MAX + 16];
    (void)snprintf(name, sizeof name, "sweep/%s/stop", sweep->options.name);
    return gw_event_clear(client, name, error);
}

/* Sends the rest to MLflow. That this fails is no failure of the sweep. */
static void finish_feed(struct gw_sweep *sweep, int rc)
{
    struct gw_error error;
    if (gw_sweep_feed_flush(sweep, sweep->feed, rc, &error) < 0)
        gw_log_warn("%s: not all of the sweep %s was sent%s", error.text, sweep->options.name,
                    sweep->options.attached
                        ? ""
                        : "; the cluster keeps it, and gw_sweep_export or `gangway sweep export "
                          "--format mlflow` sends the rest");
}

int gw_sweep_run(struct gw_sweep *sweep, struct gw_client *client, struct gw_error *error)
{
    struct gw_error why = {0};
    char lock[GW_SWEEP_NAME_MAX + 8];
    (void)snprintf(lock, sizeof lock, "sweep/%s", sweep->options.name);
    /* The lease of a process that was just killed ends when its connection does. */
    int rc = gw_lock_acquire(client, lock, LOCK_MS * GW_NS_PER_MS, &why);
    if (rc == GW_ETIMEDOUT)
        return gw_error_set(error, GW_EEXIST,
                            "a sweep %s is running already: give this one another name, or stop "
                            "that one with `gangway sweep stop %s`",
                            sweep->options.name, sweep->options.name);
    if (rc == 0)
        rc = forget_stop(sweep, client, &why);
    if (rc == 0 && sweep->options.mlflow && !sweep->feed)
        rc = gw_sweep_feed_open(sweep, sweep->options.mlflow, &sweep->feed, &why);
    if (rc == 0)
        rc = begin(sweep, client, &why);
    if (rc == 0)
        rc = run(sweep, &why);
    if (rc < 0 && rc != GW_ECLOSED && rc != GW_EMISMATCH && sweep->completions)
        cancel_all(sweep);
    if (rc != GW_ECLOSED)
        finish_feed(sweep, rc);
    end(sweep);
    (void)gw_lock_release(client, lock, NULL);
    if (rc < 0)
        (void)gw_error_set(error, rc, "%s", why.text);
    return rc;
}
