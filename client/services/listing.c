/* Listings with typed rows. A table for each kind says which keys of a row of the query become
 * which fields. The rows of one page are converted one by one. */
#include "graph/base/clock.h"
#include "graph/base/options_read.h"

#include <gangway/gangway.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FOLLOW_MS = 200 }; /* between two looks for new rows */

enum as { TEXT, FLAG, I32, U32, U64, F64, COUNT }; /* U64: also a signed number of 64 bits */

struct field {
    const char *key; /* "a.b": b in dict a; NULL ends the table */
    size_t at;
    enum as as;
};

#define JOB(field) offsetof(struct gw_job_row, field)
static const struct field job_fields[] = {
    {"id", JOB(id), U64},
    {"name", JOB(name), TEXT},
    {"user", JOB(user), TEXT},
    {"state", JOB(state), TEXT},
    {"tasks", JOB(tasks), U64},
    {"done", JOB(done), U64},
    {"failed", JOB(failed), U64},
    {"cancelled", JOB(cancelled), U64},
    {"running", JOB(running), U64},
    {"ranks", JOB(ranks), U32},
    {"detached", JOB(detached), FLAG},
    {"submitted_ns", JOB(submitted_ns), U64},
    {"started_ns", JOB(started_ns), U64},
    {"ended_ns", JOB(ended_ns), U64},
    {"slot_seconds", JOB(slot_seconds), F64},
    {"gpu_seconds", JOB(gpu_seconds), F64},
    {"cpu_seconds", JOB(cpu_seconds), F64},
    {"progress.fraction", JOB(progress), F64},
    {"progress.text", JOB(progress_text), TEXT},
    {"code", JOB(code), I32},
    {"exit_code", JOB(exit_code), I32},
    {"text", JOB(text), TEXT},
    {0},
};

#define TASK(field) offsetof(struct gw_task_row, field)
static const struct field task_fields[] = {
    {"index", TASK(index), U32},
    {"name", TASK(name), TEXT},
    {"shown", TASK(state), TEXT},
    {"tries", TASK(attempts), U32},
    {"attempt", TASK(attempt), U64},
    {"where", TASK(where), TEXT},
    {"ranks", TASK(ranks), U32},
    {"started_ns", TASK(started_ns), U64},
    {"run_ns", TASK(run_ns), U64},
    {"code", TASK(code), I32},
    {"exit_code", TASK(exit_code), I32},
    {"text", TASK(text), TEXT},
    {0},
};

#define WORKER(field) offsetof(struct gw_worker_row, field)
static const struct field worker_fields[] = {
    {"id", WORKER(id), U32},
    {"name", WORKER(name), TEXT},
    {"host", WORKER(host), TEXT},
    {"address", WORKER(address), TEXT},
    {"state", WORKER(state), TEXT},
    {"slots", WORKER(slots), U32},
    {"slots_free", WORKER(slots_free), U32},
    {"gpus", WORKER(gpus), COUNT},
    {"running", WORKER(running), U32},
    {"memory_bytes", WORKER(memory_bytes), U64},
    {"memory_used", WORKER(memory_used_bytes), U64},
    {"held_bytes", WORKER(result_bytes), U64},
    {"spilled_bytes", WORKER(spilled_bytes), U64},
    {0},
};

#define GPU(field) offsetof(struct gw_gpu_row, field)
static const struct field gpu_fields[] = {
    {"worker", GPU(worker), U32},
    {"worker_name", GPU(worker_name), TEXT},
    {"host", GPU(host), TEXT},
    {"number", GPU(number), U32},
    {"name", GPU(name), TEXT},
    {"uuid", GPU(uuid), TEXT},
    {"physical_gpu", GPU(physical_gpu), TEXT},
    {"state", GPU(state), TEXT},
    {"drained", GPU(drained), TEXT},
    {"memory_bytes", GPU(memory_bytes), U64},
    {"used_bytes", GPU(memory_used_bytes), U64},
    {"power_w", GPU(power_w), F64},
    {"busy_percent", GPU(busy_percent), U32},
    {"nvlink_domain", GPU(nvlink_domain), U32},
    {0},
};

#define METRIC(field) offsetof(struct gw_metric_row, field)
static const struct field metric_fields[] = {
    {"seq", METRIC(seq), U64},
    {"index", METRIC(index), U32},
    {"step", METRIC(step), U64},
    {"time_ns", METRIC(time_ns), U64},
    {"name", METRIC(name), TEXT},
    {"value", METRIC(value), F64},
    {0},
};

static const struct {
    const char *query;
    const struct field *fields;
    size_t row_at; /* where the row of the query lies in a typed row */
    bool of_job;   /* needs `job` */
} kinds[] = {
    [GW_LISTING_JOBS] = {"jobs", job_fields, JOB(row)},
    [GW_LISTING_TASKS] = {"tasks", task_fields, TASK(row), true},
    [GW_LISTING_WORKERS] = {"workers", worker_fields, WORKER(row)},
    [GW_LISTING_GPUS] = {"gpus", gpu_fields, GPU(row)},
    [GW_LISTING_METRICS] = {"metrics", metric_fields, METRIC(row), true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct gw_listing {
    struct gw_client *client;
    enum gw_listing_kind kind;
    struct gw_value *arguments;
    struct gw_value *page; /* NULL: none was fetched yet */
    size_t at;             /* next row of the page */
    int64_t cursor;        /* of the next page; -1: there is none */
    uint64_t left;         /* number of rows until the limit */
    bool follow;
    uint64_t seq; /* of the last reported metric */
    union {
        struct gw_job_row job;
        struct gw_task_row task;
        struct gw_worker_row worker;
        struct gw_gpu_row gpu;
        struct gw_metric_row metric;
        unsigned char bytes[1];
    } row;
};

/* -- Arguments ----------------------------------------------------------------------------------
 */

static int check(enum gw_listing_kind kind, const struct gw_listing_options *options,
                 struct gw_error *error)
{
    if ((unsigned)kind >= KINDS)
        return gw_error_set(error, GW_EINVAL, "there is no listing of kind %d", (int)kind);
    if (kind != GW_LISTING_JOBS && (options->user || options->since_ns))
        return gw_error_set(error, GW_EINVAL, "`user` and `since_ns` are only for GW_LISTING_JOBS");
    if (kind != GW_LISTING_JOBS && kind != GW_LISTING_TASKS && options->state)
        return gw_error_set(error, GW_EINVAL,
                            "`state` is only for GW_LISTING_JOBS and GW_LISTING_TASKS");
    if (kind != GW_LISTING_METRICS && (options->after || options->follow))
        return gw_error_set(error, GW_EINVAL,
                            "`after` and `follow` are only for GW_LISTING_METRICS");
    if (kinds[kind].of_job != (options->job != 0))
        return gw_error_set(error, GW_EINVAL,
                            kinds[kind].of_job
                                ? "a listing of %s needs the number of a job: set `job`"
                                : "a listing of %s does not take `job`",
                            kinds[kind].query);
    return 0;
}

static int set_arguments(struct gw_value *dict, const struct gw_listing_options *options)
{
    int rc = 0;
    if (options->job)
        rc = gw_dict_set(dict, "job", gw_i64((int64_t)options->job));
    if (rc == 0 && options->state)
        rc = gw_dict_set(dict, "state", gw_str(options->state));
    if (rc == 0 && options->user)
        rc = gw_dict_set(dict, "user", gw_str(options->user));
    if (rc == 0 && options->since_ns)
        rc = gw_dict_set(dict, "since_ns", gw_i64((int64_t)options->since_ns));
    if (rc == 0 && options->after)
        rc = gw_dict_set(dict, "after", gw_i64((int64_t)options->after));
    return rc;
}

int gw_listing_new(struct gw_client *client, enum gw_listing_kind kind,
                   const struct gw_listing_options *given, struct gw_listing **listing,
                   struct gw_error *error)
{
    struct gw_listing_options options;
    int rc = GW_OPTIONS_READ(&options, given, gw_listing_options, error);
    rc = rc == 0 ? check(kind, &options, error) : rc;
    if (rc < 0)
        return rc;
    struct gw_listing *made = calloc(1, sizeof *made);
    if (made) {
        made->client = client;
        made->kind = kind;
        made->follow = options.follow;
        made->left = options.limit && options.limit < INT64_MAX ? options.limit : INT64_MAX;
        made->arguments = gw_dict();
    }
    if (!made || set_arguments(made->arguments, &options) < 0) {
        gw_listing_free(made);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    *listing = made;
    return 0;
}

void gw_listing_free(struct gw_listing *listing)
{
    if (!listing)
        return;
    gw_value_unref(listing->arguments);
    gw_value_unref(listing->page);
    free(listing);
}

/* -- Rows ---------------------------------------------------------------------------------------
 */

/* Returns the value of a key, or NULL. */
static const struct gw_value *find(const struct gw_value *dict, const char *key)
{
    char outer[32];
    const char *dot = strchr(key, '.');
    if (!dot)
        return gw_value_find(dict, key);
    memcpy(outer, key, (size_t)(dot - key));
    outer[dot - key] = '\0';
    dict = gw_value_find(dict, outer);
    return dict ? gw_value_find(dict, dot + 1) : NULL;
}

static void set_field(void *to, enum as as, const struct gw_value *value)
{
    int64_t number = 0;
    const char *text = "";
    switch (as) {
    case TEXT:
        if (value)
            (void)gw_value_get_str(value, &text, NULL);
        memcpy(to, &text, sizeof text);
        return;
    case FLAG:
        if (value)
            (void)gw_value_get_bool(value, to, NULL);
        return;
    case F64:
        if (value)
            (void)gw_value_get_f64(value, to, NULL);
        return;
    case COUNT:
        number = value ? (int64_t)gw_value_count(value) : 0;
        break;
    default:
        if (value)
            (void)gw_value_get_i64(value, &number, NULL);
    }
    if (as == U64)
        memcpy(to, &(uint64_t){(uint64_t)number}, sizeof(uint64_t));
    else
        memcpy(to, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
}

/* Fetches the next page. */
static int fetch(struct gw_listing *listing, struct gw_error *error)
{
    struct gw_value *page;
    const struct gw_value *rows, *next;
    int rc = gw_dict_set(listing->arguments, "cursor", gw_i64(listing->cursor));
    rc = rc == 0 ? gw_dict_set(listing->arguments, "limit", gw_i64((int64_t)listing->left)) : rc;
    if (rc < 0)
        return gw_error_set(error, rc, "out of memory");
    rc = gw_client_query(listing->client, kinds[listing->kind].query, listing->arguments, &page,
                         error);
    if (rc < 0)
        return rc;
    gw_value_unref(listing->page);
    listing->page = page;
    listing->at = 0;
    listing->cursor = -1;
    rows = gw_value_find(page, "rows");
    next = gw_value_find(page, "next");
    if (!rows || (next && gw_value_get_i64(next, &listing->cursor, NULL) < 0))
        return gw_error_set(
            error, GW_EPROTO,
            "the scheduler's answer is malformed: install one version of Gangway on both sides");
    return 0;
}

/* Waits, and lets the listing go on after its last row. */
static int wait_for_rows(struct gw_listing *listing, struct gw_error *error)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = FOLLOW_MS * (long)GW_NS_PER_MS}, NULL);
    listing->cursor = 0;
    const int rc = gw_dict_set(listing->arguments, "after", gw_i64((int64_t)listing->seq));
    return rc < 0 ? gw_error_set(error, rc, "out of memory") : 0;
}

static int next_row(struct gw_listing *listing, enum gw_listing_kind kind, struct gw_error *error)
{
    const struct gw_value *rows;
    if (listing->kind != kind)
        return gw_error_set(error, GW_EINVAL, "this is a listing of %s, which have other rows",
                            kinds[listing->kind].query);
    while (rows = listing->page ? gw_value_find(listing->page, "rows") : NULL,
           !rows || listing->at == gw_value_count(rows)) {
        if (listing->left == 0 || (listing->cursor < 0 && !listing->follow))
            return 0;
        int rc = listing->cursor < 0 ? wait_for_rows(listing, error) : 0;
        if (rc == 0)
            rc = fetch(listing, error);
        if (rc < 0)
            return rc;
    }
    if (listing->left == 0)
        return 0;
    const struct gw_value *row = gw_value_at(rows, listing->at++);
    if (kind == GW_LISTING_METRICS && gw_value_find(row, "end")) { /* it is the last row */
        listing->follow = false;
        return 0;
    }
    listing->left--;
    memset(&listing->row, 0, sizeof listing->row);
    for (const struct field *field = kinds[kind].fields; field->key; field++)
        set_field(listing->row.bytes + field->at, field->as, find(row, field->key));
    memcpy(listing->row.bytes + kinds[kind].row_at, &row, sizeof row);
    if (kind == GW_LISTING_METRICS)
        listing->seq = listing->row.metric.seq;
    return 1;
}

int gw_listing_next_job(struct gw_listing *listing, const struct gw_job_row **row,
                        struct gw_error *error)
{
    *row = &listing->row.job;
    return next_row(listing, GW_LISTING_JOBS, error);
}

int gw_listing_next_task(struct gw_listing *listing, const struct gw_task_row **row,
                         struct gw_error *error)
{
    *row = &listing->row.task;
    return next_row(listing, GW_LISTING_TASKS, error);
}

int gw_listing_next_worker(struct gw_listing *listing, const struct gw_worker_row **row,
                           struct gw_error *error)
{
    *row = &listing->row.worker;
    return next_row(listing, GW_LISTING_WORKERS, error);
}

int gw_listing_next_gpu(struct gw_listing *listing, const struct gw_gpu_row **row,
                        struct gw_error *error)
{
    *row = &listing->row.gpu;
    return next_row(listing, GW_LISTING_GPUS, error);
}

int gw_listing_next_metric(struct gw_listing *listing, const struct gw_metric_row **row,
                           struct gw_error *error)
{
    *row = &listing->row.metric;
    return next_row(listing, GW_LISTING_METRICS, error);
}
