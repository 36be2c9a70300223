/* Translates trials and events for the module. The module is loaded once and stays loaded. */
#include "client/sweep/controller/sweep.h"

#include "client/sweep/controller/trial_record.h"
#include "gpu/base/module.h"
#include "graph/base/clock.h"
#include "graph/base/log.h"

#include <dlfcn.h>
#include <gangway/version.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULE "libgangway-mlflow.so"

enum { PATIENCE_S = 10 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct gw_mlflow_functions *functions; /* NULL: not there */
static struct gw_error reason;

/* The module shares structs with this library, so both must be from the same build. */
static void load(void)
{
    void *module = gw_module_open(MODULE);
    const struct gw_mlflow_functions *found = module ? dlsym(module, "gw_mlflow_functions") : NULL;
    if (!found)
        (void)gw_error_set(&reason, GW_ENOTSUP, "MLflow needs " MODULE ": %s", dlerror());
    else if (strcmp(found->version, GANGWAY_VERSION) != 0)
        (void)gw_error_set(&reason, GW_ENOTSUP, MODULE " is of version %s, libgangway of %s",
                           found->version, GANGWAY_VERSION);
    else
        functions = found;
}

static void say(const char *text)
{
    gw_log_warn("%s", text);
}

int gw_sweep_feed_open(const struct gw_sweep *sweep, const char *url, struct gw_mlflow **feed,
                       struct gw_error *error)
{
    const struct gw_mlflow_options options = {.url = url,
                                              .experiment = sweep->options.mlflow_experiment,
                                              .sweep = sweep->options.name,
                                              .say = say};
    (void)pthread_once(&once, load);
    return functions ? functions->open(&options, feed, error)
                     : gw_error_set(error, reason.code, "%s", reason.text);
}

void gw_sweep_feed_close(struct gw_mlflow *feed)
{
    if (feed)
        functions->close(feed);
}

int gw_sweep_feed_identify(struct gw_sweep *sweep, struct gw_client *client, struct gw_mlflow *feed,
                           struct gw_error *error)
{
    const struct gw_sweep_state *state = &sweep->state;
    const struct gw_sweep_trial *first =
        state->trials.count ? &state->trials.items[0]->shown : NULL;
    char id[GW_SWEEP_NAME_MAX + 32];
    if (!first || !first->job)
        return 0;
    if (!sweep->submitted_ns) { /* nothing was loaded, so this is the first job of all */
        struct gw_value *arguments = gw_dict(), *row = NULL;
        int64_t ns = 0;
        int rc = gw_dict_set(arguments, "job", gw_i64((int64_t)first->job));
        rc = rc == 0 ? gw_client_query(client, "job", arguments, &row, error)
                     : gw_error_set(error, rc, "out of memory");
        gw_value_unref(arguments);
        if (rc < 0)
            return rc;
        (void)gw_value_get_i64(gw_value_find(row, "submitted_ns"), &ns, NULL);
        gw_value_unref(row);
        sweep->submitted_ns = (uint64_t)ns;
    }
    (void)snprintf(id, sizeof id, "%s@%" PRIu64, sweep->options.name, sweep->submitted_ns);
    functions->identify(feed, id);
    return 0;
}

void gw_sweep_feed_event(const struct gw_sweep *sweep, struct gw_mlflow *feed,
                         const struct gw_sweep_event *event)
{
    uint64_t trial;
    if (!feed || event->end || event->index != 0 ||
        !gw_map_get(&sweep->state.jobs, event->job, &trial))
        return;
    const struct gw_study_report report = {
        .name = event->name, .step = event->step, .wall_ns = event->wall_ns, .value = event->value};
    (void)functions->report(feed, (uint32_t)trial, event->seq, &report);
}

void gw_sweep_feed_reports(struct gw_mlflow *feed, uint32_t trial,
                           const struct gw_study_trial *study)
{
    for (size_t i = 0; i < study->report_count; i++)
        (void)functions->report(feed, trial, study->reports[i].seq, &study->reports[i]);
}

enum gw_study_state gw_sweep_feed_state(enum gw_trial_state state)
{
    static const enum gw_study_state states[] = {
        [GW_TRIAL_RUNNING] = GW_STUDY_RUNNING, [GW_TRIAL_PAUSED] = GW_STUDY_PAUSED,
        [GW_TRIAL_DONE] = GW_STUDY_DONE,       [GW_TRIAL_PRUNED] = GW_STUDY_PRUNED,
        [GW_TRIAL_FAILED] = GW_STUDY_FAILED,   [GW_TRIAL_CANCELLED] = GW_STUDY_CANCELLED};
    return states[state];
}

static void free_params(struct gw_mlflow_param *params, size_t count)
{
    for (size_t i = 0; params && i < count; i++)
        free((void *)(uintptr_t)params[i].value);
    free(params);
}

/* The params of a trial as words of a command line; NULL: out of memory. */
static struct gw_mlflow_param *make_params(const struct gw_value *values)
{
    const size_t count = gw_value_count(values);
    struct gw_mlflow_param *params = calloc(count + 1, sizeof *params);
    for (size_t i = 0; params && i < count; i++) {
        const size_t bytes = gw_sweep_word(gw_value_at(values, i), NULL, 0) + 1;
        char *word = malloc(bytes);
        params[i] = (struct gw_mlflow_param){gw_value_key(values, i), word};
        if (!word) {
            free_params(params, i);
            return NULL;
        }
        (void)gw_sweep_word(gw_value_at(values, i), word, bytes);
    }
    return params;
}

static void tell(const struct gw_sweep *sweep, struct gw_mlflow *feed,
                 const struct gw_sweep_trial *trial)
{
    struct gw_mlflow_param *params = make_params(trial->trial->params);
    const struct gw_mlflow_trial told = {.number = trial->trial->number,
                                         .state = gw_sweep_feed_state(trial->trial->state),
                                         .job = trial->job,
                                         .began_ns = trial->began_ns,
                                         .ended_ns = trial->ended_ns,
                                         .metric = sweep->options.metric ? sweep->options.metric
                                                                         : "value",
                                         .value = trial->trial->value,
                                         .step = (int64_t)trial->trial->step,
                                         .note = trial->text,
                                         .params = params,
                                         .param_count = gw_value_count(trial->trial->params)};
    if (params)
        (void)functions->trial(feed, &told);
    free_params(params, told.param_count);
}

uint32_t gw_sweep_feed_trials(const struct gw_sweep *sweep, struct gw_mlflow *feed, uint32_t first)
{
    bool open = false;
    uint32_t next = first;
    for (uint32_t i = first; feed && i < sweep->state.trials.count; i++) {
        const struct gw_sweep_trial *trial = &sweep->state.trials.items[i]->shown;
        if (trial->job)
            tell(sweep, feed, trial);
        open |= !trial->ended_ns || trial->trial->state == GW_TRIAL_RUNNING ||
                trial->trial->state == GW_TRIAL_PAUSED;
        next = open ? next : i + 1;
    }
    return next;
}

int gw_sweep_feed_flush(const struct gw_sweep *sweep, struct gw_mlflow *feed, int rc,
                        struct gw_error *error)
{
    const struct gw_trial *best = NULL;
    char note[1024] = "";
    if (!feed)
        return 0;
    (void)gw_sweep_feed_trials(sweep, feed, 0);
    if (sweep->state.search && gw_search_best(sweep->state.search, &best, NULL) == 0) {
        char *params = gw_trial_record_params(best->params);
        (void)snprintf(note, sizeof note, "best trial: %" PRIu32 " (%s %.17g), %.800s",
                       best->number, sweep->options.metric ? sweep->options.metric : "value",
                       best->value, params ? params : "");
        free(params);
    }
    (void)functions->over(feed,
                          rc == 0               ? GW_STUDY_DONE
                          : rc == GW_ECANCELLED ? GW_STUDY_CANCELLED
                                                : GW_STUDY_FAILED,
                          note);
    return functions->flush(feed, PATIENCE_S * GW_NS_PER_S, error);
}

int gw_sweep_feed_upload(struct gw_mlflow *feed, uint32_t trial, const char *folder,
                         struct gw_error *error)
{
    return functions->upload(feed, trial, folder, "checkpoint", error);
}
