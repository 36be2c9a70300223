/* Answers queries of clients.
 *
 * Answers are dicts and lists of plain values (PROTOCOL.md lists the keys). An answer to a query
 * message takes a bounded turn of the loop and fits into one message. Listings come in pages
 * (page.h). */
#include "scheduler/core/view/query.h"

#include "graph/wire/codec.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/requests/coordination/sync.h"
#include "scheduler/core/requests/share.h"
#include "scheduler/core/sched.h"
#include "scheduler/core/send/send.h"
#include "scheduler/core/view/account_rows.h"
#include "scheduler/core/view/cluster_rows.h"
#include "scheduler/core/view/explain.h"
#include "scheduler/core/view/graph_view.h"
#include "scheduler/core/view/job_rows.h"
#include "scheduler/core/view/metric_rows.h"
#include "scheduler/core/view/page.h"
#include "scheduler/core/view/quote.h"
#include "scheduler/core/view/running.h"
#include "scheduler/core/view/selection.h"
#include "scheduler/core/view/task_rows.h"

#include <stdlib.h>
#include <string.h>

/* A query that is being answered. */
struct asked {
    const struct gw_sched *sched;
    const struct gw_value *arguments; /* NULL: none */
    const struct gw_remote *remote;   /* the client; NULL: asked by the scheduler itself */
    struct gw_page *page;             /* for a listing */
    struct gw_value *answer;          /* for all other queries */
    uint64_t counted;                 /* rows of a listing that are counted but left out */
    struct gw_job *job;               /* for a query about a job or task */
    int64_t row;                      /* for a query about a task; negative: the whole job */
};

static int64_t number_of(const struct asked *asked, const char *key, int64_t otherwise)
{
    const struct gw_value *value = asked->arguments ? gw_value_find(asked->arguments, key) : NULL;
    if (value)
        (void)gw_value_get_i64(value, &otherwise, NULL);
    return otherwise;
}

static bool flag_of(const struct asked *asked, const char *key)
{
    const struct gw_value *value = asked->arguments ? gw_value_find(asked->arguments, key) : NULL;
    bool flag = false;
    if (value)
        (void)gw_value_get_bool(value, &flag, NULL);
    return flag;
}

static const char *text_of(const struct asked *asked, const char *key)
{
    const struct gw_value *value = asked->arguments ? gw_value_find(asked->arguments, key) : NULL;
    const char *text = NULL;
    if (value)
        (void)gw_value_get_str(value, &text, NULL);
    return text;
}

/* -- Queries about the cluster
 * --------------------------------------------------------------------- */

static int ask_status(struct asked *asked, struct gw_error *error)
{
    asked->answer = gw_cluster_rows_status(asked->sched);
    return 0;
}

static int ask_jobs(struct asked *asked, struct gw_error *error)
{
    struct gw_selection selection;
    int rc = gw_selection_init(&selection, asked->arguments, asked->remote ? asked->remote->uid : 0,
                               error);
    if (rc < 0)
        return rc;
    const int64_t limit = number_of(asked, "limit", UINT32_MAX);
    const struct gw_job_rows wanted = {
        .selection = &selection,
        .asker = asked->remote,
        .rows_max = limit < 0            ? 0
                    : limit > UINT32_MAX ? UINT32_MAX
                                         : (uint32_t)limit,
        .brief = flag_of(asked, "brief"),
        .counts = flag_of(asked, "count"),
    };
    asked->counted = gw_job_rows(asked->sched, &wanted, asked->page);
    return 0;
}

static int ask_actors(struct asked *asked, struct gw_error *error)
{
    gw_page_take_list(asked->page, gw_cluster_rows_actors(asked->sched, asked->remote));
    return 0;
}

static int ask_running(struct asked *asked, struct gw_error *error)
{
    gw_running_rows(asked->sched, asked->page);
    return 0;
}

/* -- Queries about a job
 * --------------------------------------------------------------------------- */

/* Finds the job that the arguments name, and the task if they name one. */
static int find_row(const struct gw_sched *sched, const struct gw_value *arguments,
                    struct gw_job **job, int64_t *row, struct gw_error *error)
{
    int64_t id = 0;
    const struct gw_value *value = arguments ? gw_value_find(arguments, "job") : NULL;
    if (!value || gw_value_get_i64(value, &id, NULL) < 0)
        return gw_error_set(error, GW_EINVAL,
                            "the argument \"job\" of the query, the number of a job, is missing");
    *job = gw_sched_job_find(sched, (uint64_t)id);
    if (!*job)
        return gw_error_set(error, GW_ENOENT, "there is no job %lld", (long long)id);
    *row = -1;
    const char *name;
    value = gw_value_find(arguments, "name");
    if (value) {
        uint32_t named = GW_NO_INDEX;
        if (gw_value_get_str(value, &name, NULL) == 0)
            named = gw_sched_share_row_named(*job, name);
        if (named == GW_NO_INDEX)
            return gw_error_set(
                error, GW_ENOENT,
                "job %lld has no task named \"%s\": `gangway tasks JOB` lists its tasks",
                (long long)id, gw_value_type(value) == GW_STR ? name : "?");
        *row = named;
        return 0;
    }
    value = gw_value_find(arguments, "index");
    if (value && (gw_value_get_i64(value, row, NULL) < 0 || *row < 0 ||
                  *row >= (int64_t)gw_sched_rows_in_all(*job)))
        return gw_error_set(
            error, GW_ENOENT,
            "job %lld has no task with this index: `gangway tasks JOB` lists its tasks",
            (long long)id);
    return 0;
}

/* Chooses the task to explain if the client names none: the first task that is neither ended nor
 * placed, else the first task that has not ended, else task 0. */
static uint32_t first_waiting(const struct gw_job *job)
{
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1))
        if (!gw_sched_task_final(job, row) && job->tasks.state[row] != GW_TASK_PLACED)
            return row;
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1))
        if (!gw_sched_task_final(job, row))
            return row;
    return 0;
}

static int ask_job(struct asked *asked, struct gw_error *error)
{
    struct gw_running runs;
    gw_running_init(&runs, asked->sched);
    asked->answer = gw_job_rows_describe(asked->sched, asked->job, &runs,
                                         gw_sched_access_sees(asked->remote, asked->job));
    gw_running_deinit(&runs);
    return 0;
}

static int ask_tasks(struct asked *asked, struct gw_error *error)
{
    const int64_t from = number_of(asked, "from", 0);
    if (asked->page->cursor == 0 && from > 0)
        asked->page->cursor = (uint64_t)from;
    const struct gw_task_rows wanted = {asked->job, text_of(asked, "state"), asked->row,
                                        flag_of(asked, "results"),
                                        gw_sched_access_sees(asked->remote, asked->job)};
    gw_task_rows(asked->sched, &wanted, asked->page);
    return 0;
}

static int ask_attempts(struct asked *asked, struct gw_error *error)
{
    const uint32_t row = asked->row < 0 ? 0 : (uint32_t)asked->row;
    if (asked->job->range && !gw_sched_row_live(asked->job, row))
        return gw_error_set(error, GW_ENOENT,
                            "the attempts of task %u are unknown: the task has not begun, or it "
                            "ended and its data was freed",
                            row);
    if (row < asked->job->tasks.count)
        gw_page_take_list(asked->page, gw_task_rows_attempts(asked->job, row));
    return 0;
}

static int ask_who_has(struct asked *asked, struct gw_error *error)
{
    const uint32_t row = asked->row < 0 ? 0 : (uint32_t)asked->row;
    if (row < asked->job->tasks.count && gw_sched_row_live(asked->job, row))
        gw_page_take_list(asked->page, gw_sched_share_query_holders(asked->sched, asked->job, row));
    return 0;
}

/* Puts "code", "reason" and "facts" from an explanation. */
static void put_parts(struct gw_value *dict, const char *code, char *text)
{
    struct gw_value *facts = gw_list();
    for (char *part = text, *end; part; part = end ? end + 2 : NULL) {
        end = strstr(part, "; ");
        if (end)
            *end = '\0';
        for (char *at = part; (at = strchr(at, GW_EXPLAIN_QUOTED));)
            *at = ';';
        if (part == text)
            gw_dict_put(dict, "reason", gw_str(part));
        else
            GW_MUST(gw_list_push(facts, gw_str(part)));
    }
    gw_dict_put(dict, "code", gw_str(code));
    gw_dict_put(dict, "facts", facts);
}

/* Returns true if everybody may know the explanation: it says why a task waits. The explanation of
 * any other task has what the task reported. */
static bool is_public(const struct gw_job *job, uint32_t row)
{
    return gw_sched_row_live(job, row) && !job->first_failure && !gw_metric_first(job, row) &&
           (job->tasks.state[row] == GW_TASK_WAITING || job->tasks.state[row] == GW_TASK_READY);
}

static int ask_explain(struct asked *asked, struct gw_error *error)
{
    char text[GW_ERROR_TEXT_MAX] = "the job has no tasks";
    const char *code = "no_tasks";
    const struct gw_sched *sched = asked->sched;
    struct gw_job *job = asked->job;
    const uint32_t row = asked->row < 0 ? first_waiting(job) : (uint32_t)asked->row;
    if (!gw_sched_access_sees(asked->remote, job) && !is_public(job, row))
        return gw_sched_access_job(job, job->id, asked->remote->uid, error);
    if (asked->row < 0 && job->range)
        code = gw_sched_explain_range(sched, job, row, text, sizeof text);
    else if (asked->row < 0 && job->tasks.count > 1 && job->unfinished == 0)
        code = gw_sched_explain_job(sched, job, text, sizeof text);
    else if (job->tasks.count)
        code = gw_sched_explain(sched, job, row, text, sizeof text);
    struct gw_value *parts = gw_dict();
    struct gw_text end = {text, sizeof text, strlen(text)};
    gw_sched_start_tell(sched, job, row, code, &end, parts);
    if (flag_of(asked, "parts")) {
        put_parts(parts, code, text);
        asked->answer = parts;
        return 0;
    }
    gw_value_unref(parts);
    for (char *at = text; (at = strchr(at, GW_EXPLAIN_QUOTED));)
        *at = ';';
    asked->answer = gw_str(text);
    return 0;
}

/* Finds the jobs that the arguments list. Numbers of unknown jobs are skipped. */
static int find_jobs(const struct asked *asked, struct gw_job **jobs, size_t *count,
                     struct gw_error *error)
{
    const struct gw_value *list = gw_value_find(asked->arguments, "jobs");
    for (size_t i = 0; i < gw_value_count(list); i++) {
        int64_t id;
        if (gw_value_get_i64(gw_value_at(list, i), &id, NULL) < 0)
            return gw_error_set(error, GW_EINVAL,
                                "the argument \"jobs\" of the query is a list of job numbers");
        jobs[*count] = gw_sched_job_find(asked->sched, (uint64_t)id);
        *count += jobs[*count] != NULL;
    }
    return 0;
}

static int ask_metrics(struct asked *asked, struct gw_error *error)
{
    const struct gw_value *list = asked->arguments ? gw_value_find(asked->arguments, "jobs") : NULL;
    const size_t most = list ? gw_value_count(list) : 1;
    const int64_t after = number_of(asked, "after", 0);
    if (most > GW_METRIC_ROWS_JOBS_MAX)
        return gw_error_set(error, GW_ELIMIT, "a query of metrics has at most %d jobs, not %zu",
                            GW_METRIC_ROWS_JOBS_MAX, most);
    struct gw_job **jobs = calloc(most + 1, sizeof *jobs);
    GW_MUST_PTR(jobs);
    struct gw_metric_rows wanted = {
        .jobs = jobs, .row = -1, .after = after > 0 ? (uint64_t)after : 0};
    int rc = list ? find_jobs(asked, jobs, &wanted.count, error)
                  : find_row(asked->sched, asked->arguments, &jobs[0], &wanted.row, error);
    wanted.count += rc == 0 && !list;
    for (size_t i = 0; rc == 0 && asked->remote && i < wanted.count; i++)
        rc = gw_sched_access_job(jobs[i], jobs[i]->id, gw_sched_access_uid(asked->remote, jobs[i]),
                                 error);
    if (rc == 0) {
        gw_metric_rows(asked->sched, &wanted, asked->page);
    }
    free(jobs);
    return rc;
}

static int ask_history(struct asked *asked, struct gw_error *error)
{
    if (!gw_sched_access_sees(asked->remote, asked->job))
        return gw_sched_access_job(asked->job, asked->job->id, asked->remote->uid, error);
    asked->answer = gw_sched_history_query(asked->sched, asked->job, asked->row);
    return 0;
}

/* Halves the number of nodes until the answer fits into a message, because labels can be long. */
static int ask_graph(struct asked *asked, struct gw_error *error)
{
    int64_t limit = number_of(asked, "limit", GW_GRAPH_VIEW_NODES);
    limit = limit < 1 ? 1 : limit > GW_GRAPH_VIEW_NODES_MAX ? GW_GRAPH_VIEW_NODES_MAX : limit;
    asked->answer = gw_sched_graph_view_query(asked->sched, asked->job, (uint32_t)limit);
    while (gw_page_bytes(asked->answer) > GW_PAGE_ANSWER_BYTES && limit > 1) {
        gw_value_unref(asked->answer);
        limit /= 2;
        asked->answer = gw_sched_graph_view_query(asked->sched, asked->job, (uint32_t)limit);
    }
    return 0;
}

/* -- Dispatch
 * -------------------------------------------------------------------------------------- */

/* The queries by name. A query with of_job set needs a job, and optionally a task, among its
 * arguments. A query with `lists` set fills a page. If the whole listing is wanted, the page has at
 * most `lists` rows. */
static const struct kind {
    const char *what;
    int (*ask)(struct asked *asked, struct gw_error *error);
    bool of_job;
    uint32_t lists;
    struct gw_value *(*list)(const struct gw_sched *sched); /* used instead of `ask` */
} kinds[] = {
    {"status", .ask = ask_status},
    {"jobs", .ask = ask_jobs, .lists = GW_ANSWER_JOBS_MAX},
    {"running", .ask = ask_running, .lists = UINT32_MAX},
    {"workers", .lists = UINT32_MAX, .list = gw_cluster_rows_workers},
    {"gpus", .lists = UINT32_MAX, .list = gw_cluster_rows_gpus},
    {"accounts", .lists = UINT32_MAX, .list = gw_account_rows},
    {"queues", .lists = UINT32_MAX, .list = gw_account_rows_queues},
    {"actors", .ask = ask_actors, .lists = UINT32_MAX},
    {"sync", .lists = UINT32_MAX, .list = gw_sync_query},
    {"published", .lists = UINT32_MAX, .list = gw_sched_share_query_published},
    {"metrics", .ask = ask_metrics, .lists = UINT32_MAX},
    {"job", .ask = ask_job, .of_job = true},
    {"tasks", .ask = ask_tasks, .of_job = true, .lists = GW_ANSWER_TASKS_MAX},
    {"attempts", .ask = ask_attempts, .of_job = true, .lists = UINT32_MAX},
    {"who_has", .ask = ask_who_has, .of_job = true, .lists = UINT32_MAX},
    {"explain", .ask = ask_explain, .of_job = true},
    {"events", .ask = ask_history, .of_job = true},
    {"graph", .ask = ask_graph, .of_job = true},
};

static const struct kind *find_kind(const char *what, struct gw_error *error)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(what, kinds[i].what) == 0)
            return &kinds[i];
    gw_error_set(error, GW_EINVAL, "there is no query \"%s\"", what);
    return NULL;
}

static int ask(const struct kind *kind, struct asked *asked, struct gw_error *error)
{
    if (kind->list) {
        gw_page_take_list(asked->page, kind->list(asked->sched));
        return 0;
    }
    int rc = kind->of_job
                 ? find_row(asked->sched, asked->arguments, &asked->job, &asked->row, error)
                 : 0;
    return rc < 0 ? rc : kind->ask(asked, error);
}

int gw_sched_query(const struct gw_sched *sched, const char *what, const struct gw_value *arguments,
                   struct gw_value **answer, struct gw_error *error)
{
    struct gw_page page = {0};
    struct asked asked = {.sched = sched, .arguments = arguments, .page = &page};
    const struct kind *kind = find_kind(what, error);
    if (!kind)
        return GW_EINVAL;
    if (kind->lists)
        gw_page_init_whole(&page, kind->lists);
    int rc = ask(kind, &asked, error);
    if (rc < 0)
        gw_value_unref(page.rows);
    else
        *answer = kind->lists ? page.rows : asked.answer;
    return rc;
}

/* Builds {"rows", "next", "more"}. "next" is present if more pages follow. "more" is the number of
 * rows that were counted but left out. */
static struct gw_value *page_answer(const struct asked *asked)
{
    const struct gw_page *page = asked->page;
    struct gw_value *dict = gw_dict();
    GW_MUST_PTR(dict);
    gw_dict_put(dict, "rows", page->rows);
    if (page->more)
        gw_dict_put_u64(dict, "next", page->next);
    if (asked->counted)
        gw_dict_put_u64(dict, "more", asked->counted);
    return dict;
}

/* Decodes the arguments of a query message, which must be a dict. nil means no arguments. */
static int decode(const struct gw_msg_query *query, struct gw_value **arguments,
                  struct gw_error *error)
{
    int rc = 0;
    *arguments = NULL;
    if (query->arguments.size)
        rc = gw_codec_decode(query->arguments.data, query->arguments.size, NULL, arguments, error);
    if (rc == 0 && *arguments && gw_value_type(*arguments) != GW_DICT) {
        rc = gw_value_type(*arguments) == GW_NIL
                 ? 0
                 : gw_error_set(error, GW_EINVAL,
                                "the arguments of a query must be a dict, like {\"job\": 7}");
        gw_value_unref(*arguments);
        *arguments = NULL;
    }
    return rc;
}

int gw_sched_query_encoded(struct gw_sched *sched, const struct gw_remote *remote,
                           const struct gw_msg_query *query, struct gw_bin *body,
                           struct gw_error *error)
{
    struct gw_page page = {0};
    struct asked asked = {.sched = sched, .remote = remote, .page = &page};
    struct gw_value *arguments;
    const struct kind *kind = find_kind(query->what, error);
    int rc = kind ? decode(query, &arguments, error) : GW_EINVAL;
    if (rc < 0)
        return rc;
    asked.arguments = arguments;
    const int64_t cursor = number_of(&asked, "cursor", 0);
    const int64_t limit = number_of(&asked, "limit", UINT32_MAX);
    if (kind->lists)
        gw_page_init(&page, cursor > 0 ? (uint64_t)cursor : 0);
    if (kind->lists && kind->ask != ask_jobs && limit >= 0 && limit < UINT32_MAX)
        gw_page_limit(&page, (uint32_t)limit);
    rc = ask(kind, &asked, error);
    gw_value_unref(arguments);
    if (rc < 0) {
        gw_value_unref(page.rows);
        return rc;
    }
    struct gw_value *answer =
        kind->lists ? page_answer(&asked) : gw_page_shorten(asked.answer, GW_PAGE_ANSWER_BYTES);
    struct gw_buffer bytes = {0};
    GW_MUST(gw_codec_encode(answer, NULL, &bytes));
    gw_value_unref(answer);
    if (bytes.size > GW_PAGE_ANSWER_BYTES)
        rc = gw_error_set(
            error, GW_ELIMIT,
            "the answer is larger than a message may be: ask for fewer jobs or tasks (\"limit\")");
    else
        *body = gw_sched_send_bin(sched, (struct gw_bin){bytes.data, (uint32_t)bytes.size});
    gw_buffer_deinit(&bytes);
    return rc;
}
