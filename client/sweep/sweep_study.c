/* Makes a study: parameters from the search, trials from the sweep, times and reports from the
 * jobs of the trials. */
#include "client/sweep/sweep_study.h"

#include "client/sweep/controller/sweep.h"
#include "client/sweep/controller/sweep_events.h"
#include "client/sweep/controller/trial_record.h"
#include "client/sweep/search/state.h"
#include "graph/base/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 1024 };

/* -- Parameters --- */

static int add_choices(struct gw_study_param *to, const struct gw_param *param)
{
    struct gw_study_choice *choices = calloc(param->choices.count + 1, sizeof *choices);
    to->choices = choices;
    for (size_t i = 0; i < param->choices.count && choices; i++) {
        char word[WORD_BYTES];
        const struct gw_value *value = param->choices.items[i];
        (void)gw_sweep_word(value, word, sizeof word);
        choices[i].is_text = gw_value_type(value) == GW_STR;
        choices[i].text = strdup(word);
        if (!choices[i].text)
            return GW_ENOMEM;
        to->choice_count++;
    }
    return choices ? 0 : GW_ENOMEM;
}

static int add_params(struct gw_sweep_study *made, const struct gw_space *space)
{
    static const enum gw_study_kind kinds[] = {[GW_PARAM_CHOICE] = GW_STUDY_CHOICE,
                                               [GW_PARAM_FLOAT] = GW_STUDY_FLOAT,
                                               [GW_PARAM_INT] = GW_STUDY_INT};
    int rc = 0;
    made->params = calloc(space->params.count + space->derived.count + 1, sizeof *made->params);
    if (!made->params)
        return GW_ENOMEM;
    made->study.params = made->params;
    for (size_t i = 0; i < space->params.count && rc == 0; i++) {
        const struct gw_param *param = &space->params.items[i];
        struct gw_study_param *to = &made->params[made->study.param_count++];
        *to = (struct gw_study_param){.name = param->name,
                                      .kind = kinds[param->kind],
                                      .log = param->log,
                                      .low = param->low,
                                      .high = param->high,
                                      .step = param->step};
        if (param->kind == GW_PARAM_CHOICE)
            rc = add_choices(to, param);
    }
    for (size_t i = 0; i < space->derived.count; i++)
        made->params[made->study.param_count++] = (struct gw_study_param){
            .name = space->derived.items[i].name, .kind = GW_STUDY_FLOAT, .derived = true};
    return rc;
}

/* -- Trials --- */

/* The params of a trial as numbers. */
static void read_point(const struct gw_study *study, const struct gw_space *space,
                       const struct gw_value *params, double *point)
{
    for (size_t i = 0; i < study->param_count; i++) {
        const struct gw_value *value = gw_value_find(params, study->params[i].name);
        point[i] = NAN;
        if (value && study->params[i].derived)
            (void)gw_value_get_f64(value, &point[i], NULL);
        else if (value)
            point[i] = gw_param_find(&space->params.items[i], value);
    }
}

static int add_trials(struct gw_sweep_study *made, const struct gw_space *space,
                      const struct gw_sweep *sweep)
{
    const struct gw_sweep_trial *best;
    const size_t count = gw_sweep_count(sweep);
    made->trials = calloc(count + 1, sizeof *made->trials);
    made->points = calloc(count * made->study.param_count + 1, sizeof *made->points);
    if (!made->trials || !made->points)
        return GW_ENOMEM;
    made->study.trials = made->trials;
    made->study.trial_count = count;
    made->study.best =
        gw_sweep_best(sweep, &best, NULL) == 0 ? best->trial->number : (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        const struct gw_sweep_trial *trial = gw_sweep_trial(sweep, (uint32_t)i);
        double *point = made->points + i * made->study.param_count;
        read_point(&made->study, space, trial->trial->params, point);
        made->trials[i] = (struct gw_study_trial){.state = gw_sweep_feed_state(trial->trial->state),
                                                  .params = point,
                                                  .value = trial->trial->value,
                                                  .step = (int64_t)trial->trial->step,
                                                  .ended_ns = trial->ended_ns};
    }
    return 0;
}

/* -- Jobs --- */

struct jobs {
    GW_ARRAY(uint64_t) ids;
    struct gw_map trials; /* job -> number of its trial */
};

static uint64_t number(const struct gw_value *row, const char *key)
{
    int64_t i = 0;
    (void)gw_value_get_i64(gw_value_find(row, key), &i, NULL);
    return (uint64_t)i;
}

static int by_begin(const void *a, const void *b)
{
    const struct gw_study_run *x = a, *y = b;
    if (x->trial != y->trial)
        return x->trial < y->trial ? -1 : 1;
    return (x->began_ns > y->began_ns) - (x->began_ns < y->began_ns);
}

/* Gives each trial its runs, in their order. */
static void add_runs(struct gw_sweep_study *made)
{
    const struct gw_study_run *run;
    if (made->runs.count > 1)
        qsort(made->runs.items, made->runs.count, sizeof *run, by_begin);
    GW_ARRAY_EACH (&made->runs, run) {
        struct gw_study_trial *trial = &made->trials[run->trial];
        if (trial->run_count++ == 0)
            trial->runs = run;
    }
}

/* Finds the jobs of the trials, and when each trial started. */
static int find_jobs(struct gw_sweep_study *made, struct gw_client *client, struct jobs *jobs,
                     struct gw_error *error)
{
    struct gw_value *rows = NULL;
    int rc = gw_sweep_load_jobs(client, made->study.name, &rows, error);
    for (size_t i = 0; i < gw_value_count(rows) && rc == 0; i++) {
        const struct gw_value *row = gw_value_at(rows, i);
        const uint64_t began_ns = number(row, "started_ns");
        struct gw_trial_record record;
        rc = gw_trial_record_read(gw_value_find(row, "annotations"), &record);
        if (rc == GW_EINVAL) { /* a job that a user has annotated so */
            rc = 0;
            continue;
        }
        if (rc == 0 && record.trial < made->study.trial_count) {
            struct gw_study_trial *trial = &made->trials[record.trial];
            const struct gw_study_run run = {.trial = record.trial,
                                             .began_ns = began_ns,
                                             .ended_ns = number(row, "ended_ns"),
                                             .ranks = (uint32_t)fmax(1, number(row, "ranks"))};
            if (began_ns && (!trial->began_ns || began_ns < trial->began_ns))
                trial->began_ns = began_ns;
            rc = gw_array_push(&jobs->ids, number(row, "id"));
            if (rc == 0 && began_ns)
                rc = gw_array_push(&made->runs, run);
            if (rc == 0)
                rc = gw_map_put(&jobs->trials, number(row, "id"), record.trial);
        }
        if (rc == 0)
            gw_trial_record_deinit(&record);
        else
            (void)gw_error_set(error, rc, "out of memory");
    }
    gw_value_unref(rows);
    add_runs(made);
    return rc;
}

/* -- Reports --- */

/* A report, and what it is sorted by. */
struct row {
    struct gw_study_report report;
    uint64_t trial;
};

struct reading {
    struct gw_sweep_study *made;
    const struct jobs *jobs;
    GW_ARRAY(struct row) rows;
};

/* The study's own copy of a name; NULL: out of memory. */
static const char *own_name(struct gw_sweep_study *made, const char *name)
{
    char **own;
    GW_ARRAY_EACH (&made->names, own)
        if (strcmp(*own, name) == 0)
            return *own;
    char *copy = strdup(name);
    if (copy && gw_array_push(&made->names, copy) < 0) {
        free(copy);
        return NULL;
    }
    return copy;
}

static int note_event(void *arg, const struct gw_sweep_event *event, struct gw_error *error)
{
    struct reading *reading = arg;
    struct row row = {0};
    if (event->end || event->index != 0 ||
        !gw_map_get(&reading->jobs->trials, event->job, &row.trial))
        return 0;
    row.report = (struct gw_study_report){.name = own_name(reading->made, event->name),
                                          .step = event->step,
                                          .wall_ns = event->wall_ns,
                                          .value = event->value,
                                          .seq = event->seq};
    if (!row.report.name || gw_array_push(&reading->rows, row) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    return 0;
}

static int by_trial(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->trial != y->trial)
        return x->trial < y->trial ? -1 : 1;
    return (x->report.seq > y->report.seq) - (x->report.seq < y->report.seq);
}

/* Gives each trial its reports, in their order. */
static int add_reports(struct gw_sweep_study *made, struct reading *reading)
{
    const struct row *row;
    if (gw_array_reserve(&made->reports, reading->rows.count) < 0)
        return GW_ENOMEM;
    if (reading->rows.count > 1)
        qsort(reading->rows.items, reading->rows.count, sizeof *row, by_trial);
    GW_ARRAY_EACH (&reading->rows, row) {
        struct gw_study_trial *trial = &made->trials[row->trial];
        if (trial->report_count++ == 0)
            trial->reports = made->reports.items + made->reports.count;
        made->reports.items[made->reports.count++] = row->report;
    }
    return 0;
}

int gw_sweep_study_init(struct gw_sweep_study *made, const struct gw_sweep *sweep,
                        struct gw_client *client, struct gw_error *error)
{
    const struct gw_search *search = gw_sweep_search(sweep);
    struct jobs jobs = {0};
    struct reading reading = {.made = made, .jobs = &jobs};
    *made = (struct gw_sweep_study){0};
    if (!search)
        return gw_error_set(error, GW_ENOENT, "the sweep has no trial yet");
    made->study.name = sweep->options.name;
    made->study.metric = sweep->options.metric ? sweep->options.metric : "value";
    made->study.maximize = search->options.maximize;
    made->study.target = search->options.has_target ? search->options.target : NAN;
    int rc = add_params(made, search->space);
    if (rc == 0)
        rc = add_trials(made, search->space, sweep);
    if (rc < 0)
        return gw_error_set(error, rc, "out of memory");
    rc = find_jobs(made, client, &jobs, error);
    if (rc == 0)
        rc = gw_sweep_events_read(client, jobs.ids.items, jobs.ids.count, 0, note_event, &reading,
                                  error);
    if (rc == 0 && add_reports(made, &reading) < 0)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    gw_array_deinit(&reading.rows);
    gw_array_deinit(&jobs.ids);
    gw_map_deinit(&jobs.trials);
    return rc;
}

void gw_sweep_study_deinit(struct gw_sweep_study *made)
{
    char **name;
    for (size_t i = 0; i < made->study.param_count; i++) {
        for (size_t k = 0; k < made->params[i].choice_count; k++)
            free((void *)(uintptr_t)made->params[i].choices[k].text);
        free((void *)(uintptr_t)made->params[i].choices);
    }
    GW_ARRAY_EACH (&made->names, name)
        free(*name);
    gw_array_deinit(&made->names);
    gw_array_deinit(&made->reports);
    gw_array_deinit(&made->runs);
    free(made->params);
    free(made->trials);
    free(made->points);
}
