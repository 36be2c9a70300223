/* Makes the state of a sweep again: repeats its starts and events in their order. */
#include "client/sweep/controller/sweep.h"

#include "client/sweep/controller/sweep_events.h"
#include "client/sweep/controller/trial_record.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t number(const struct gw_value *row, const char *key)
{
    int64_t i = 0;
    (void)gw_value_get_i64(gw_value_find(row, key), &i, NULL);
    return (uint64_t)i;
}

/* -- What the cluster remembers --- */

struct start {
    struct gw_trial_record record;
    uint64_t job, wall_ns;
};

struct memory {
    GW_ARRAY(struct start) starts;
    struct gw_map held;                     /* start that was held -> events handled before it */
    GW_ARRAY(struct gw_sweep_event) events; /* up to number `last`; their texts are owned */
    uint64_t last;
};

static void forget(struct memory *memory)
{
    struct start *start;
    struct gw_sweep_event *event;
    GW_ARRAY_EACH (&memory->starts, start)
        gw_trial_record_deinit(&start->record);
    GW_ARRAY_EACH (&memory->events, event) {
        free((void *)(uintptr_t)event->name);
        free((void *)(uintptr_t)event->end);
        free((void *)(uintptr_t)event->text);
    }
    gw_array_deinit(&memory->starts);
    gw_array_deinit(&memory->events);
    gw_map_deinit(&memory->held);
}

int gw_sweep_load_jobs(struct gw_client *client, const char *name, struct gw_value **rows,
                       struct gw_error *error)
{
    struct gw_value *where = gw_dict(), *arguments = gw_dict();
    int rc = gw_dict_set(where, "sweep", gw_str(name));
    rc = gw_dict_set(arguments, "where", rc == 0 ? where : NULL);
    if (rc == 0)
        rc = gw_dict_set(arguments, "all", gw_bool(true));
    rc = rc == 0 ? gw_client_query(client, "jobs", arguments, rows, error)
                 : gw_error_set(error, rc, "out of memory");
    gw_value_unref(arguments);
    return rc;
}

static int by_start(const void *a, const void *b)
{
    const uint32_t x = ((const struct start *)a)->record.start,
                   y = ((const struct start *)b)->record.start;
    return (x > y) - (x < y);
}

/* Notes which earlier starts were held when this one was submitted. */
static int note_held(struct memory *memory, const char *held)
{
    int rc = 0;
    for (char *end; *held && rc == 0; held = end + strspn(end, " ")) {
        const uint64_t start = strtoull(held, &end, 10);
        if (*end != ':')
            return 0;
        rc = gw_map_put(&memory->held, start, strtoull(end + 1, &end, 10));
    }
    return rc;
}

static int read_starts(struct gw_sweep *sweep, struct memory *memory, struct gw_error *error)
{
    struct gw_value *rows = NULL;
    int rc = gw_sweep_load_jobs(sweep->client, sweep->options.name, &rows, error);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < gw_value_count(rows) && rc == 0; i++) {
        const struct gw_value *row = gw_value_at(rows, i);
        struct start start = {.job = number(row, "id"), .wall_ns = number(row, "submitted_ns")};
        rc = gw_trial_record_read(gw_value_find(row, "annotations"), &start.record);
        if (rc == GW_EINVAL) { /* a job that a user has annotated so */
            rc = 0;
            continue;
        }
        if (rc == 0)
            rc = gw_array_push(&memory->starts, start);
        if (rc == 0)
            rc = note_held(memory, start.record.held);
        if (rc < 0)
            (void)gw_error_set(error, rc, "out of memory");
    }
    gw_value_unref(rows);
    if (memory->starts.count > 1)
        qsort(memory->starts.items, memory->starts.count, sizeof *memory->starts.items, by_start);
    return rc;
}

static int note_event(void *arg, const struct gw_sweep_event *event, struct gw_error *error)
{
    struct memory *memory = arg;
    struct gw_sweep_event copy = *event;
    if (event->seq > memory->last)
        return 0;
    copy.name = strdup(event->name);
    copy.text = strdup(event->text);
    copy.end = event->end ? strdup(event->end) : NULL;
    return gw_array_push(&memory->events, copy) < 0
               ? gw_error_set(error, GW_ENOMEM, "out of memory")
               : 0;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = ((const struct gw_sweep_event *)a)->seq,
                   y = ((const struct gw_sweep_event *)b)->seq;
    return (x > y) - (x < y);
}

static int note_number(void *arg, const struct gw_sweep_event *event, struct gw_error *error)
{
    uint64_t *last = arg;
    *last = event->seq > *last ? event->seq : *last;
    return 0;
}

/* Reads all events, in their order. Several queries show several moments: then only the events are
 * taken that a first round could show, because the second round misses none of these. */
static int read_all_events(struct gw_client *client, struct memory *memory, struct gw_error *error)
{
    const size_t count = memory->starts.count;
    uint64_t *jobs = calloc(count + 1, sizeof *jobs);
    int rc = 0;
    if (!jobs)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        jobs[i] = memory->starts.items[i].job;
    if (count > GW_SWEEP_EVENTS_JOBS_MAX) {
        memory->last = 0;
        rc = gw_sweep_events_read(client, jobs, count, 0, note_number, &memory->last, error);
    }
    if (rc == 0)
        rc = gw_sweep_events_read(client, jobs, count, 0, note_event, memory, error);
    free(jobs);
    if (memory->events.count > 1)
        qsort(memory->events.items, memory->events.count, sizeof *memory->events.items, by_number);
    return rc;
}

/* -- Repeating --- */

/* Fetches the value of a trial whose metric is its result. */
static int fetch_result(const struct gw_sweep *sweep, uint64_t job, double *result,
                        struct gw_error *error)
{
    struct gw_future *future = NULL;
    struct gw_value *value = NULL;
    int rc = gw_client_task(sweep->client, job, 0, &future, error);
    if (rc == GW_ENOENT)
        return gw_error_set(error, GW_ELOST,
                            "the result of job %" PRIu64 " was released when the program ended "
                            "that ran the sweep %s: use another name, and let trials report a "
                            "metric if the sweep is to be continued",
                            job, sweep->options.name);
    if (rc == 0)
        rc = gw_future_get(future, 0, &value, error);
    if (rc == 0)
        (void)gw_value_get_f64(value, result, NULL);
    gw_value_unref(value);
    gw_future_release(future);
    return rc;
}

/* Handles the events up to number `last`, from *at on. */
static int repeat_events(struct gw_sweep *sweep, const struct memory *memory, size_t *at,
                         uint64_t last, struct gw_error *error)
{
    uint64_t cancel;
    int rc = 0;
    for (; *at < memory->events.count && memory->events.items[*at].seq <= last && rc == 0; ++*at) {
        struct gw_sweep_event event = memory->events.items[*at];
        if (event.end && !sweep->options.metric && strcmp(event.end, "done") == 0)
            rc = fetch_result(sweep, event.job, &event.value, error);
        gw_sweep_feed_event(sweep, sweep->feed, &event);
        if (rc == 0)
            rc = gw_sweep_state_handle(&sweep->state, &event, &cancel, error);
    }
    return rc;
}

static int differs(const struct gw_sweep *sweep, uint64_t job, struct gw_error *error)
{
    return gw_error_set(error, GW_EMISMATCH,
                        "the sweep %s of the cluster has another space, seed or options (job "
                        "%" PRIu64 " differs): give them again, or use another name",
                        sweep->options.name, job);
}

static int repeat_start(struct gw_sweep *sweep, const struct start *start, struct gw_error *error)
{
    struct gw_sweep_state_trial *trial = NULL;
    int rc = gw_sweep_state_reopen(&sweep->state, start->record.trial, error);
    if (rc == 0)
        rc = gw_sweep_state_start(&sweep->state, 0, &trial, error);
    if (rc == GW_ENOENT || rc == GW_EAGAIN)
        return differs(sweep, start->job, error);
    if (rc < 0)
        return rc;
    char *params = gw_trial_record_params(trial->shown.trial->params);
    if (!params)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    const bool same = trial->shown.trial->number == start->record.trial &&
                      strcmp(params, start->record.params) == 0;
    free(params);
    if (!same)
        return differs(sweep, start->job, error);
    rc = gw_sweep_state_started(&sweep->state, trial, start->job, start->wall_ns);
    if (rc == 0 && start->record.unfit)
        rc = gw_sweep_state_unfit(trial, start->record.unfit);
    return rc < 0 ? gw_error_set(error, rc, "out of memory") : 0;
}

/* Repeats the starts before start `next` that the cluster does not have: of the batch of `next`, it
 * has accepted only some, or they were held. */
static int repeat_missing(struct gw_sweep *sweep, const struct memory *memory, size_t *at,
                          const struct start *next, struct gw_error *error)
{
    const struct gw_trial_record *record = &next->record;
    struct gw_sweep_state_trial *trial = NULL;
    int rc = 0;
    while (sweep->state.starts < record->start && rc == 0) {
        const uint32_t start = sweep->state.starts;
        uint64_t seen = record->seen;
        if (!gw_map_get(&memory->held, start, &seen) && start < record->batch)
            return gw_error_set(error, GW_ELOST,
                                "the cluster has forgotten start %" PRIu32
                                " of sweep %s: use another name. Its history has the last jobs "
                                "that have ended, see --history of `gangway up`",
                                start, sweep->options.name);
        rc = repeat_events(sweep, memory, at, seen, error);
        if (rc == 0)
            rc = gw_sweep_state_start(&sweep->state, 0, &trial, error);
        if (rc == GW_ENOENT || rc == GW_EAGAIN)
            return differs(sweep, next->job, error);
        if (rc == 0 && gw_sweep_start_missing(sweep, trial, seen) < 0)
            rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    return rc;
}

static int repeat(struct gw_sweep *sweep, const struct memory *memory, struct gw_error *error)
{
    size_t at = 0;
    int rc = 0;
    for (size_t i = 0; i < memory->starts.count && rc == 0; i++) {
        const struct start *start = &memory->starts.items[i];
        rc = repeat_missing(sweep, memory, &at, start, error);
        if (rc == 0)
            rc = repeat_events(sweep, memory, &at, start->record.seen, error);
        if (rc == 0)
            rc = repeat_start(sweep, start, error);
        if (rc == 0 && start->record.definition) {
            free(sweep->stored);
            sweep->stored = strdup(start->record.definition);
        }
    }
    return rc == 0 ? repeat_events(sweep, memory, &at, UINT64_MAX, error) : rc;
}

int gw_sweep_load_state(struct gw_sweep *sweep, struct gw_client *client, struct gw_error *error)
{
    struct memory memory = {.last = UINT64_MAX};
    sweep->client = client;
    int rc = read_starts(sweep, &memory, error);
    if (rc == 0)
        rc = read_all_events(client, &memory, error);
    if (rc == 0) {
        gw_sweep_state_init(&sweep->state, sweep->spare, sweep->options.metric, sweep->max_steps);
        sweep->spare = NULL;
        if (memory.starts.count)
            sweep->began_wall_ns = sweep->submitted_ns = memory.starts.items[0].wall_ns;
        rc = repeat(sweep, &memory, error);
    }
    forget(&memory);
    return rc;
}

int gw_sweep_load(struct gw_sweep *sweep, struct gw_client *client, struct gw_error *error)
{
    int rc = sweep->spare ? gw_sweep_load_state(sweep, client, error)
                          : gw_error_set(error, GW_EINVAL, "the sweep was loaded before");
    if (rc == 0 && sweep->state.trials.count == 0)
        rc = gw_error_set(error, GW_ENOENT, "the cluster remembers no sweep %s",
                          sweep->options.name);
    return rc;
}

int gw_sweep_definition(struct gw_client *client, const char *name, char **definition,
                        struct gw_error *error)
{
    struct gw_value *rows = NULL;
    uint32_t newest = 0;
    *definition = NULL;
    int rc = gw_sweep_load_jobs(client, name, &rows, error);
    for (size_t i = 0; i < gw_value_count(rows) && rc == 0; i++) {
        struct gw_trial_record record;
        rc = gw_trial_record_read(gw_value_find(gw_value_at(rows, i), "annotations"), &record);
        if (rc == 0 && record.definition && (!*definition || record.start >= newest)) {
            free(*definition);
            newest = record.start;
            *definition = (char *)(uintptr_t)record.definition;
            record.definition = NULL;
        }
        if (rc == 0)
            gw_trial_record_deinit(&record);
        else if (rc == GW_ENOMEM)
            (void)gw_error_set(error, rc, "out of memory");
        else
            rc = 0;
    }
    if (rc == 0 && !*definition && gw_value_count(rows) > 0)
        rc = gw_error_set(error, GW_ENOTSUP,
                          "the sweep %s is of a C program, which alone can show and continue it: "
                          "`gangway jobs --where sweep=%s` lists its jobs",
                          name, name);
    else if (rc == 0 && !*definition)
        rc = gw_error_set(error, GW_ENOENT,
                          "the cluster remembers no sweep %s: `gangway sweep "
                          "list` shows those that it does",
                          name);
    gw_value_unref(rows);
    return rc;
}
