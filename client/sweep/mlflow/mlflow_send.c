/* Sends runs to an MLflow server.
 *
 * Invariant: a sent value is forgotten only when the server has confirmed it, in an answer or in
 * the tags of its run. */
#include "client/sweep/mlflow/mlflow_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define API "/api/2.0/mlflow/"

enum { PAGE_RUNS = 1000, NS_PER_MS = 1000000 };

/* -- Requests --- */

/* The error of an answer that is no success. */
static int judge(long status, const json_t *said, struct gw_error *error)
{
    const char *code = json_string_value(json_object_get(said, "error_code"));
    const char *message = json_string_value(json_object_get(said, "message"));
    if (status == 401 || status == 403)
        return gw_error_set(error, GW_EPERM,
                            "it refuses the login (HTTP status %ld): set MLFLOW_TRACKING_TOKEN, or "
                            "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD",
                            status);
    if (status >= 500 || status == 408 || status == 429)
        return gw_error_set(error, GW_EIO, "HTTP status %ld%s%.300s", status, message ? ": " : "",
                            message ? message : "");
    if (!code)
        return gw_error_set(error, GW_EPROTO, "it is no MLflow server (HTTP status %ld)", status);
    return gw_error_set(error, strcmp(code, "RESOURCE_DOES_NOT_EXIST") == 0 ? GW_ENOENT : GW_EINVAL,
                        "%.100s: %.500s", code, message ? message : "");
}

int gw_mlflow_send_request(struct gw_mlflow *mlflow, const char *method, const char *path,
                           json_t *body, json_t **answer, struct gw_error *error)
{
    struct gw_http_answer got = {0};
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    *answer = NULL;
    int rc = body && !text ? gw_error_set(error, GW_ENOMEM, "out of memory") : 0;
    const struct gw_http_request request = {.method = method, .path = path, .body = text};
    if (rc == 0)
        rc = gw_http_send(mlflow->http, &request, &got, error);
    free(text);
    json_decref(body);
    if (rc < 0)
        return rc;
    json_t *said = json_loads(got.body, 0, NULL);
    free(got.body);
    if (got.status == 200 && json_is_object(said)) {
        *answer = said;
        return 0;
    }
    rc = judge(got.status, said, error);
    json_decref(said);
    return rc;
}

/* A POST of which only the success counts. */
static int post(struct gw_mlflow *mlflow, const char *path, json_t *body, struct gw_error *error)
{
    json_t *answer;
    const int rc = gw_mlflow_send_request(mlflow, "POST", path, body, &answer, error);
    json_decref(answer);
    return rc;
}

static int take_id(const json_t *id, char to[GW_MLFLOW_ID_BYTES], struct gw_error *error)
{
    const char *text = json_string_value(id);
    if (!text || !*text || strlen(text) >= GW_MLFLOW_ID_BYTES)
        return gw_error_set(error, GW_EPROTO, "it is no MLflow server: its answer has no id");
    memcpy(to, text, strlen(text) + 1);
    return 0;
}

static int find_experiment(struct gw_mlflow *mlflow, struct gw_error *error)
{
    json_t *answer = NULL;
    char *escaped = gw_http_escape(mlflow->experiment), *path = NULL;
    int rc =
        escaped && asprintf(&path, API "experiments/get-by-name?experiment_name=%s", escaped) >= 0
            ? gw_mlflow_send_request(mlflow, "GET", path, NULL, &answer, error)
            : gw_error_set(error, GW_ENOMEM, "out of memory");
    free(escaped);
    free(path);
    if (rc == 0)
        rc = take_id(json_object_get(json_object_get(answer, "experiment"), "experiment_id"),
                     mlflow->experiment_id, error);
    else if (rc == GW_ENOENT) {
        rc = gw_mlflow_send_request(mlflow, "POST", API "experiments/create",
                                    json_pack("{s:s}", "name", mlflow->experiment), &answer, error);
        if (rc == 0)
            rc = take_id(json_object_get(answer, "experiment_id"), mlflow->experiment_id, error);
    } else
        return rc;
    json_decref(answer);
    return rc;
}

/* -- What the server has --- */

static void drop_confirmed(struct gw_mlflow_run *run, uint64_t sent)
{
    size_t count = 0;
    while (count < run->reports.count && run->reports.items[count].seq <= sent)
        count++;
    if (count)
        memmove(run->reports.items, run->reports.items + count,
                (run->reports.count - count) * sizeof *run->reports.items);
    run->reports.count -= count;
    run->sent = sent > run->sent ? sent : run->sent;
}

/* Takes over a run as the server describes it. */
static void take_run(struct gw_mlflow_run *run, const json_t *said)
{
    const json_t *info = json_object_get(said, "info");
    const char *id = json_string_value(json_object_get(info, "run_id"));
    const char *status = json_string_value(json_object_get(info, "status"));
    const char *seq = gw_mlflow_json_tag(said, "gangway.seq");
    if (!id || strlen(id) >= sizeof run->id || (*run->id && strcmp(run->id, id) != 0))
        return;
    memcpy(run->id, id, strlen(id) + 1);
    const char *note = gw_mlflow_json_tag(said, "mlflow.note.content");
    run->note_confirmed = note && run->note && strcmp(note, run->note) == 0;
    run->confirmed = -1;
    for (int state = 0; status && state < GW_STUDY_STATES; state++)
        if (strcmp(status, gw_mlflow_json_status((enum gw_study_state)state)) == 0)
            run->confirmed = state;
    if (!seq)
        return;
    run->params_confirmed = true;
    drop_confirmed(run, strtoull(seq, NULL, 10));
}

static struct gw_mlflow_run *find_run(struct gw_mlflow *mlflow, const char *trial)
{
    char *end;
    const unsigned long long number = strtoull(trial, &end, 10);
    if (strcmp(trial, "sweep") == 0)
        return &mlflow->parent;
    if (*trial < '0' || *trial > '9' || *end)
        return NULL;
    return number < mlflow->runs.count ? &mlflow->runs.items[number] : NULL;
}

/* Reads the tags of all runs of this sweep. */
static int read_runs(struct gw_mlflow *mlflow, struct gw_error *error)
{
    char filter[512], token[4096] = "";
    (void)snprintf(filter, sizeof filter, "tags.`gangway.sweep` = '%s'", mlflow->id);
    do {
        json_t *answer,
            *body = json_pack("{s:[s], s:s, s:i}", "experiment_ids", mlflow->experiment_id,
                              "filter", filter, "max_results", PAGE_RUNS);
        if (*token)
            json_object_set_new(body, "page_token", json_string(token));
        const int rc =
            gw_mlflow_send_request(mlflow, "POST", API "runs/search", body, &answer, error);
        if (rc < 0)
            return rc;
        const json_t *runs = json_object_get(answer, "runs");
        pthread_mutex_lock(&mlflow->lock);
        for (size_t i = 0; i < json_array_size(runs); i++) {
            const char *trial = gw_mlflow_json_tag(json_array_get(runs, i), "gangway.trial");
            struct gw_mlflow_run *run = trial ? find_run(mlflow, trial) : NULL;
            if (run)
                take_run(run, json_array_get(runs, i));
        }
        pthread_mutex_unlock(&mlflow->lock);
        const char *next = json_string_value(json_object_get(answer, "next_page_token"));
        (void)snprintf(token, sizeof token, "%s", next ? next : "");
        json_decref(answer);
    } while (*token);
    mlflow->read = true;
    return 0;
}

/* -- Runs --- */

static json_t *time_ms(uint64_t ns)
{
    return json_integer((json_int_t)(ns / NS_PER_MS));
}

static int create_run(struct gw_mlflow *mlflow, struct gw_mlflow_run *run, const char *trial,
                      struct gw_error *error)
{
    json_t *tags = json_array(), *body = json_object(), *answer;
    char name[128], job[24], id[GW_MLFLOW_ID_BYTES];
    const bool whole = run == &mlflow->parent;
    (void)snprintf(name, sizeof name, whole ? "%s" : "%s-%s", mlflow->sweep, trial);
    (void)snprintf(job, sizeof job, "%" PRIu64, run->job);
    gw_mlflow_json_add_tag(tags, "mlflow.source.name", "gangway sweep");
    gw_mlflow_json_add_tag(tags, "gangway.sweep", mlflow->id);
    gw_mlflow_json_add_tag(tags, "gangway.trial", trial);
    if (!whole) {
        gw_mlflow_json_add_tag(tags, "mlflow.parentRunId", mlflow->parent.id);
        gw_mlflow_json_add_tag(tags, "gangway.job", job);
    }
    json_object_set_new(body, "experiment_id", json_string(mlflow->experiment_id));
    json_object_set_new(body, "run_name", json_string(name));
    json_object_set_new(body, "start_time", time_ms(run->began_ns));
    json_object_set_new(body, "tags", tags);
    pthread_mutex_unlock(&mlflow->lock);
    int rc = gw_mlflow_send_request(mlflow, "POST", API "runs/create", body, &answer, error);
    if (rc == 0)
        rc = take_id(
            json_object_get(json_object_get(json_object_get(answer, "run"), "info"), "run_id"), id,
            error);
    json_decref(answer);
    pthread_mutex_lock(&mlflow->lock);
    run = find_run(mlflow, trial);
    if (rc == 0) {
        memcpy(run->id, id, sizeof id);
        run->confirmed = GW_STUDY_RUNNING;
    }
    return rc;
}

/* Puts as many params and reports of a run into a batch as it holds. */
static void fill_batch(struct gw_mlflow_run *run, struct gw_mlflow_batch *batch, size_t *params,
                       size_t *reports)
{
    char seq[24];
    size_t at = 0;
    bool room = true;
    *reports = 0;
    for (void *i = json_object_iter(run->params); i && room;
         i = json_object_iter_next(run->params, i), at += room)
        if (at >= run->params_sent && !run->params_confirmed)
            room = gw_mlflow_json_batch_add_param(batch, json_object_iter_key(i),
                                                  json_string_value(json_object_iter_value(i)));
    *params = at;
    while (room && *reports < run->reports.count &&
           gw_mlflow_json_batch_add_metric(batch, &run->reports.items[*reports]))
        ++*reports;
    (void)snprintf(seq, sizeof seq, "%" PRIu64,
                   *reports ? run->reports.items[*reports - 1].seq : run->sent);
    if (room)
        gw_mlflow_json_batch_add_tag(batch, "gangway.seq", seq);
    if (room && run->note && !run->note_confirmed) {
        gw_mlflow_json_batch_add_tag(batch, "mlflow.note.content", run->note);
        run->note_confirmed = true; /* until the request fails, or there is another note */
    }
}

static int send_batch(struct gw_mlflow *mlflow, struct gw_mlflow_run *run, const char *trial,
                      struct gw_error *error)
{
    struct gw_mlflow_batch batch;
    size_t params, reports;
    gw_mlflow_json_batch_init(&batch);
    fill_batch(run, &batch, &params, &reports);
    const uint64_t last = reports ? run->reports.items[reports - 1].seq : run->sent;
    json_t *body = gw_mlflow_json_batch_take(&batch, run->id);
    pthread_mutex_unlock(&mlflow->lock);
    const int rc = post(mlflow, API "runs/log-batch", body, error);
    pthread_mutex_lock(&mlflow->lock);
    run = find_run(mlflow, trial);
    if (rc < 0) {
        run->note_confirmed = false;
        return rc;
    }
    run->params_sent = params;
    run->params_confirmed |= params == json_object_size(run->params);
    drop_confirmed(run, last);
    return 0;
}

static int send_state(struct gw_mlflow *mlflow, struct gw_mlflow_run *run, const char *trial,
                      struct gw_error *error)
{
    const enum gw_study_state state = run->wanted;
    json_t *body =
        json_pack("{s:s, s:s}", "run_id", run->id, "status", gw_mlflow_json_status(state));
    if (state != GW_STUDY_RUNNING && state != GW_STUDY_PAUSED)
        json_object_set_new(body, "end_time", time_ms(run->ended_ns));
    pthread_mutex_unlock(&mlflow->lock);
    const int rc = post(mlflow, API "runs/update", body, error);
    pthread_mutex_lock(&mlflow->lock);
    if (rc == 0)
        find_run(mlflow, trial)->confirmed = (int)state;
    return rc;
}

static void refuse(struct gw_mlflow *mlflow, const char *trial, const struct gw_error *error)
{
    char text[GW_ERROR_TEXT_MAX];
    struct gw_mlflow_run *run = find_run(mlflow, trial);
    run->refused = true;
    drop_confirmed(run, UINT64_MAX);
    if (strcmp(mlflow->said.text, error->text) == 0)
        return;
    mlflow->said = *error;
    (void)snprintf(text, sizeof text, "MLflow refuses trial %s: %.900s", trial, error->text);
    mlflow->say(text);
}

/* Several states have the same word at the server. */
static bool is_confirmed(const struct gw_mlflow_run *run)
{
    return run->confirmed >= 0 && strcmp(gw_mlflow_json_status((enum gw_study_state)run->confirmed),
                                         gw_mlflow_json_status(run->wanted)) == 0;
}

/* Sends all of a run, with the lock, which it drops meanwhile. */
static int send_run(struct gw_mlflow *mlflow, const char *trial, struct gw_error *error)
{
    for (struct gw_mlflow_run *run; (run = find_run(mlflow, trial)) && run->known &&
                                    !run->refused && !atomic_load(&mlflow->closing);) {
        int rc;
        if (!*run->id)
            rc = create_run(mlflow, run, trial, error);
        else if (!run->params_confirmed || run->reports.count ||
                 (run->note && !run->note_confirmed))
            rc = send_batch(mlflow, run, trial, error);
        else if (!is_confirmed(run))
            rc = send_state(mlflow, run, trial, error);
        else
            return 0;
        if (rc == 0) {
            mlflow->confirmations++;
            pthread_cond_broadcast(&mlflow->changed);
        } else if ((rc == GW_EINVAL || rc == GW_ENOENT) && strcmp(trial, "sweep") != 0)
            refuse(mlflow, trial, error);
        else
            return rc;
    }
    return 0;
}

int gw_mlflow_send_pass(struct gw_mlflow *mlflow, struct gw_error *error)
{
    char trial[24];
    int rc = *mlflow->experiment_id ? 0 : find_experiment(mlflow, error);
    if (rc == 0 && !mlflow->read)
        rc = read_runs(mlflow, error);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&mlflow->lock);
    const enum gw_study_state wanted = mlflow->parent.wanted;
    if (!*mlflow->parent.id || wanted == GW_STUDY_RUNNING)
        rc = send_run(mlflow, "sweep", error);
    for (size_t i = 0; i < mlflow->runs.count && rc == 0; i++) {
        (void)snprintf(trial, sizeof trial, "%zu", i);
        rc = send_run(mlflow, trial, error);
    }
    if (rc == 0)
        rc = send_run(mlflow, "sweep", error);
    pthread_mutex_unlock(&mlflow->lock);
    if (rc < 0)
        mlflow->read = false; /* perhaps only the answer was lost */
    if (rc == GW_ENOENT || rc == GW_EINVAL)
        *mlflow->experiment_id = '\0'; /* somebody has deleted it */
    return rc;
}
