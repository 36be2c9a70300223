/* The data that the server must get, and the thread that sends it. */
#include "client/sweep/mlflow/mlflow_internal.h"

#include "graph/base/clock.h"
#include "graph/base/thread.h"

#include <errno.h>
#include <gangway/version.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PASS_MS = 1000, /* between two passes, so that reports are sent together */
    RETRY_MS = 500, /* after the first failure; then twice as long each time */
    RETRY_MS_MAX = 30000,
    HURRY_MS = 200, /* while somebody waits */
    SAID_MAX = 900,
};

/* -- The thread --- */

static void wait_for(struct gw_mlflow *mlflow, uint64_t ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    const uint64_t ns = (uint64_t)until.tv_nsec + ms * GW_NS_PER_MS;
    until.tv_sec += (time_t)(ns / GW_NS_PER_S);
    until.tv_nsec = (long)(ns % GW_NS_PER_S);
    while (!atomic_load(&mlflow->closing) && !mlflow->hurry &&
           pthread_cond_timedwait(&mlflow->wake, &mlflow->lock, &until) != ETIMEDOUT)
        ;
}

/* Says a problem once, and when it is over. */
static void say(struct gw_mlflow *mlflow, const struct gw_error *problem)
{
    char text[GW_ERROR_TEXT_MAX];
    if (problem->code == mlflow->problem.code || problem->code == GW_ECANCELLED)
        return;
    if (problem->code)
        (void)snprintf(text, sizeof text,
                       "MLflow: %.*s; the sweep goes on, and what it reports is sent later",
                       SAID_MAX, problem->text);
    else
        (void)snprintf(text, sizeof text, "MLflow: the server is there again");
    mlflow->say(text);
}

static void *work(void *arg)
{
    struct gw_mlflow *mlflow = arg;
    uint64_t retry_ms = RETRY_MS;
    pthread_mutex_lock(&mlflow->lock);
    while (!atomic_load(&mlflow->closing)) {
        if (!mlflow->dirty || !mlflow->id || mlflow->held) {
            pthread_cond_wait(&mlflow->wake, &mlflow->lock);
            continue;
        }
        struct gw_error problem = {0};
        mlflow->dirty = false;
        mlflow->busy = true;
        const uint64_t confirmations = mlflow->confirmations;
        pthread_mutex_unlock(&mlflow->lock);
        const int rc = gw_mlflow_send_pass(mlflow, &problem);
        pthread_mutex_lock(&mlflow->lock);
        mlflow->busy = false;
        mlflow->dirty |= rc < 0;
        problem.code = rc;
        say(mlflow, &problem);
        mlflow->problem = problem;
        mlflow->confirmations += rc == 0;
        if (confirmations != mlflow->confirmations)
            retry_ms = RETRY_MS;
        pthread_cond_broadcast(&mlflow->changed);
        const bool hurry = mlflow->hurry;
        mlflow->hurry = false;
        wait_for(mlflow, rc == 0 ? PASS_MS : hurry ? HURRY_MS : retry_ms);
        retry_ms = retry_ms * 2 < RETRY_MS_MAX ? retry_ms * 2 : RETRY_MS_MAX;
    }
    pthread_mutex_unlock(&mlflow->lock);
    return NULL;
}

/* -- Open and close --- */

static void deinit_run(struct gw_mlflow_run *run)
{
    gw_array_deinit(&run->reports);
    json_decref(run->params);
    free(run->note);
}

static void free_all(struct gw_mlflow *mlflow)
{
    struct gw_mlflow_run *run;
    char **name;
    GW_ARRAY_EACH (&mlflow->runs, run)
        deinit_run(run);
    GW_ARRAY_EACH (&mlflow->names, name)
        free(*name);
    deinit_run(&mlflow->parent);
    gw_array_deinit(&mlflow->runs);
    gw_array_deinit(&mlflow->names);
    gw_http_free(mlflow->http);
    free(mlflow->experiment);
    free(mlflow->sweep);
    free(mlflow->id);
    free(mlflow);
}

static int open_mlflow(const struct gw_mlflow_options *options, struct gw_mlflow **mlflow,
                       struct gw_error *error)
{
    const char *usual = getenv("MLFLOW_EXPERIMENT_NAME");
    pthread_condattr_t monotonic;
    struct gw_mlflow *made = calloc(1, sizeof *made);
    if (!made)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    made->say = options->say;
    made->experiment = strdup(options->experiment ? options->experiment
                              : usual && *usual   ? usual
                                                  : "Default");
    made->sweep = strdup(options->sweep);
    made->parent = (struct gw_mlflow_run){
        .known = true, .confirmed = -1, .params_confirmed = true, .began_ns = gw_clock_wall_ns()};
    int rc = gw_http_new(options->url, &made->closing, &made->http, error);
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&made->wake, &monotonic);
    (void)pthread_cond_init(&made->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    if (rc == 0 &&
        (!made->experiment || !made->sweep || gw_thread_start(&made->thread, work, made) != 0))
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc < 0) {
        free_all(made);
        return rc;
    }
    *mlflow = made;
    return 0;
}

static void close_mlflow(struct gw_mlflow *mlflow)
{
    pthread_mutex_lock(&mlflow->lock);
    atomic_store(&mlflow->closing, true);
    pthread_cond_signal(&mlflow->wake);
    pthread_mutex_unlock(&mlflow->lock);
    (void)pthread_join(mlflow->thread, NULL);
    free_all(mlflow);
}

/* -- What is to be sent --- */

/* There is something to send: the thread looks, with the others' lock. */
static void touch(struct gw_mlflow *mlflow)
{
    mlflow->dirty = true;
    pthread_cond_signal(&mlflow->wake);
}

static void identify(struct gw_mlflow *mlflow, const char *id)
{
    pthread_mutex_lock(&mlflow->lock);
    if (!mlflow->id)
        mlflow->id = strdup(id);
    touch(mlflow);
    pthread_mutex_unlock(&mlflow->lock);
}

static struct gw_mlflow_run *make_run(struct gw_mlflow *mlflow, uint32_t trial)
{
    while (mlflow->runs.count <= trial)
        if (gw_array_push(&mlflow->runs, (struct gw_mlflow_run){.confirmed = -1}) < 0)
            return NULL;
    return &mlflow->runs.items[trial];
}

/* The name under which a metric is sent; owned by mlflow. */
static char *sent_name(struct gw_mlflow *mlflow, const char *name)
{
    for (size_t i = 0; i + 1 < mlflow->names.count; i += 2)
        if (strcmp(mlflow->names.items[i], name) == 0)
            return mlflow->names.items[i + 1];
    char *given = strdup(name), *sent = gw_mlflow_json_name(name);
    if (!given || !sent || gw_array_reserve(&mlflow->names, 2) < 0) {
        free(given);
        free(sent);
        return NULL;
    }
    (void)gw_array_push(&mlflow->names, given);
    (void)gw_array_push(&mlflow->names, sent);
    return sent;
}

static int add_report(struct gw_mlflow *mlflow, uint32_t trial, uint64_t seq,
                      const struct gw_study_report *report)
{
    struct gw_mlflow_run *run = make_run(mlflow, trial);
    char *name = run ? sent_name(mlflow, report->name) : NULL;
    if (!name)
        return GW_ENOMEM;
    if (seq <= run->last || seq <= run->sent)
        return 0;
    run->last = seq;
    return run->refused
               ? 0
               : gw_array_push(&run->reports, (struct gw_mlflow_report){.seq = seq,
                                                                        .wall_ns = report->wall_ns,
                                                                        .step = report->step,
                                                                        .value = report->value,
                                                                        .name = name});
}

static int report(struct gw_mlflow *mlflow, uint32_t trial, uint64_t seq,
                  const struct gw_study_report *report)
{
    pthread_mutex_lock(&mlflow->lock);
    const int rc = add_report(mlflow, trial, seq, report);
    touch(mlflow);
    pthread_mutex_unlock(&mlflow->lock);
    return rc;
}

static int note_params(struct gw_mlflow_run *run, const struct gw_mlflow_trial *trial)
{
    run->params = json_object();
    for (size_t i = 0; run->params && i < trial->param_count; i++) {
        char *name = gw_mlflow_json_name(trial->params[i].name);
        json_t *value = json_string_nocheck(trial->params[i].value);
        const int rc = name ? json_object_set_new(run->params, name, value) : -1;
        free(name);
        if (rc < 0)
            return GW_ENOMEM;
    }
    return run->params ? 0 : GW_ENOMEM;
}

static int note_state(struct gw_mlflow_run *run, enum gw_study_state state, const char *note)
{
    run->wanted = state;
    if (!*note || (run->note && strcmp(run->note, note) == 0))
        return 0;
    free(run->note);
    run->note = strdup(note);
    run->note_confirmed = false;
    return run->note ? 0 : GW_ENOMEM;
}

static int trial(struct gw_mlflow *mlflow, const struct gw_mlflow_trial *trial)
{
    pthread_mutex_lock(&mlflow->lock);
    struct gw_mlflow_run *run = make_run(mlflow, trial->number);
    int rc = run ? note_state(run, trial->state, trial->note) : GW_ENOMEM;
    if (rc == 0 && !run->known)
        rc = note_params(run, trial);
    if (rc == 0) {
        run->job = trial->job;
        run->began_ns = trial->began_ns;
        run->ended_ns = trial->ended_ns;
        run->known = true;
    }
    if (rc == 0 && run->last == 0 && trial->ended_ns && !isnan(trial->value))
        rc = add_report(mlflow, trial->number, 1,
                        &(struct gw_study_report){.name = trial->metric,
                                                  .step = trial->step,
                                                  .wall_ns = trial->ended_ns,
                                                  .value = trial->value});
    touch(mlflow);
    pthread_mutex_unlock(&mlflow->lock);
    return rc;
}

static int over(struct gw_mlflow *mlflow, enum gw_study_state state, const char *note)
{
    pthread_mutex_lock(&mlflow->lock);
    const int rc = note_state(&mlflow->parent, state, note);
    mlflow->parent.ended_ns = gw_clock_wall_ns();
    touch(mlflow);
    pthread_mutex_unlock(&mlflow->lock);
    return rc;
}

static int flush(struct gw_mlflow *mlflow, uint64_t patience_ns, struct gw_error *error)
{
    int rc = 0;
    pthread_mutex_lock(&mlflow->lock);
    uint64_t confirmations = mlflow->confirmations, since_ns = gw_clock_now_ns();
    touch(mlflow);
    for (bool whole = !mlflow->id; rc == 0 && !whole;) {
        struct timespec until;
        mlflow->hurry = true;
        pthread_cond_signal(&mlflow->wake);
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++;
        (void)pthread_cond_timedwait(&mlflow->changed, &mlflow->lock, &until);
        whole = !mlflow->dirty && !mlflow->busy && mlflow->problem.code == 0;
        if (confirmations != mlflow->confirmations)
            since_ns = gw_clock_now_ns();
        confirmations = mlflow->confirmations;
        if (!whole && gw_clock_now_ns() - since_ns > patience_ns)
            rc = mlflow->problem.code
                     ? gw_error_set(error, GW_EIO, "MLflow: %.*s", SAID_MAX, mlflow->problem.text)
                     : gw_error_set(error, GW_ETIMEDOUT, "MLflow: the server does not answer");
    }
    pthread_mutex_unlock(&mlflow->lock);
    return rc;
}

const struct gw_mlflow_functions gw_mlflow_functions = {
    .version = GANGWAY_VERSION,
    .open = open_mlflow,
    .close = close_mlflow,
    .identify = identify,
    .trial = trial,
    .report = report,
    .over = over,
    .flush = flush,
    .upload = gw_mlflow_upload,
};
