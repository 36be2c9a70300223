/* Functions of the client that send one request to the scheduler and wait for one answer:
 * listings, calls that name a job by its number, and the output of tasks. */
#include "client/link/session.h"
#include "graph/base/options_read.h"
#include "graph/wire/codec.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS (5 * UINT64_C(1000000000)) /* time for a connected scheduler to answer */

enum { LOG_BYTES_MAX = 256 << 10 };

static int query(struct gw_client *client, const char *what, const struct gw_value *arguments,
                 uint64_t timeout_ns, struct gw_value **answer, struct gw_error *error)
{
    struct gw_buffer encoded = {0};
    struct gw_value *nil = gw_nil();
    struct gw_rpc call;
    int rc = gw_codec_encode(arguments ? arguments : nil, NULL, &encoded);
    gw_value_unref(nil);
    if (rc < 0)
        return gw_error_set(error, rc, "query %s: %s", what, gw_error_text(rc));

    struct gw_message message = {
        .type = GW_MESSAGE_query,
        .query = {.what = what, .arguments = {encoded.data, (uint32_t)encoded.size}},
    };
    rc = gw_session_ask(client, &call, &message, &message.query.request, timeout_ns, error);
    if (rc == 0)
        rc = gw_rpc_decode(&call, answer, error);
    gw_rpc_close(&call, client);
    gw_buffer_deinit(&encoded);
    return rc;
}

/* -- Listings in pages --------------------------------------------------------------------------
 */

static bool is_listing(const char *what)
{
    static const char *const listings[] = {"jobs",    "running",   "tasks",    "workers", "gpus",
                                           "actors",  "published", "attempts", "who_has", "sync",
                                           "metrics", "accounts",  "queues"};
    for (size_t i = 0; i < sizeof listings / sizeof *listings; i++)
        if (strcmp(what, listings[i]) == 0)
            return true;
    return false;
}

/* Copies the arguments and replaces the cursor and the limit. */
static struct gw_value *page_arguments(const struct gw_value *arguments, int64_t cursor,
                                       int64_t limit)
{
    struct gw_value *page = gw_dict();
    int rc = 0;
    for (size_t i = 0; arguments && i < gw_value_count(arguments) && rc == 0; i++)
        rc = gw_dict_set(page, gw_value_key(arguments, i), gw_value_ref(gw_value_at(arguments, i)));
    rc = rc == 0 ? gw_dict_set(page, "cursor", gw_i64(cursor)) : rc;
    rc = rc == 0 && limit >= 0 ? gw_dict_set(page, "limit", gw_i64(limit)) : rc;
    if (rc == 0)
        return page;
    gw_value_unref(page);
    return NULL;
}

/* Appends the rows of a page to `rows`. *next is the cursor of the next page, or -1 after the last
 * page. */
static int take_page(const struct gw_value *page, struct gw_value *rows, int64_t *next,
                     struct gw_error *error)
{
    const struct gw_value *more = gw_value_find(page, "next"), *from = gw_value_find(page, "rows");
    if (!from || gw_value_type(from) != GW_LIST || (more && gw_value_get_i64(more, next, NULL) < 0))
        return gw_error_set(
            error, GW_EPROTO,
            "the scheduler's answer is malformed: install one version of Gangway on both sides");
    for (size_t i = 0; i < gw_value_count(from); i++)
        if (gw_list_push(rows, gw_value_ref(gw_value_at(from, i))) < 0)
            return gw_error_set(error, GW_ENOMEM, "out of memory");
    *next = more ? *next : -1;
    return 0;
}

/* Fetches all pages, or as many rows as the argument "limit" allows. */
static int query_pages(struct gw_client *client, const char *what, const struct gw_value *arguments,
                       struct gw_value **answer, struct gw_error *error)
{
    struct gw_value *rows = gw_list(), *page;
    const struct gw_value *wanted = arguments ? gw_value_find(arguments, "limit") : NULL;
    int64_t next = 0, limit = -1;
    int rc = rows ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    if (wanted && (gw_value_get_i64(wanted, &limit, NULL) < 0 || limit < 0))
        rc = gw_error_set(error, GW_EINVAL, "the argument \"limit\" must be a number of 0 or more");
    while (rc == 0 && next >= 0 && (limit < 0 || (int64_t)gw_value_count(rows) < limit)) {
        const int64_t left = limit < 0 ? -1 : limit - (int64_t)gw_value_count(rows);
        struct gw_value *of = page_arguments(arguments, next, left);
        rc = of ? query(client, what, of, UINT64_MAX, &page, error)
                : gw_error_set(error, GW_ENOMEM, "out of memory");
        gw_value_unref(of);
        if (rc < 0)
            break;
        rc = take_page(page, rows, &next, error);
        gw_value_unref(page);
    }
    if (rc == 0)
        *answer = rows;
    else
        gw_value_unref(rows);
    return rc;
}

int gw_client_query(struct gw_client *client, const char *what, const struct gw_value *arguments,
                    struct gw_value **answer, struct gw_error *error)
{
    const bool dict = arguments && gw_value_type(arguments) == GW_DICT;
    if (is_listing(what) && (!arguments || dict) && !(dict && gw_value_find(arguments, "cursor")))
        return query_pages(client, what, arguments, answer, error);
    return query(client, what, arguments, UINT64_MAX, answer, error);
}

/* -- Calls on jobs -------------------------------------------------------------------------------
 */

static int cancel(struct gw_client *client, const struct gw_msg_cancel *what,
                  struct gw_error *error)
{
    struct gw_rpc call;
    struct gw_message message = {.type = GW_MESSAGE_cancel, .cancel = *what};
    int rc = gw_session_ask(client, &call, &message, &message.cancel.request, UINT64_MAX, error);
    gw_rpc_close(&call, client);
    return rc;
}

int gw_job_cancel(struct gw_client *client, uint64_t job, bool hard, struct gw_error *error)
{
    const struct gw_msg_cancel what = {.job = job, .index = GW_INDEX_ALL, .hard = hard};
    return cancel(client, &what, error);
}

int gw_job_cancel_task(struct gw_client *client, uint64_t job, uint32_t index, bool hard,
                       struct gw_error *error)
{
    const struct gw_msg_cancel what = {.job = job, .index = index, .hard = hard};
    if (index == GW_INDEX_ALL)
        return gw_error_set(error, GW_ENOENT, "job %llu has no task %u", (unsigned long long)job,
                            index);
    return cancel(client, &what, error);
}

/* Retries one task, or all tasks if `index` is GW_INDEX_ALL. *tasks is the number of tasks that run
 * again. */
static int retry(struct gw_client *client, uint64_t job, uint32_t index, uint32_t *tasks,
                 struct gw_error *error)
{
    struct gw_rpc call;
    struct gw_value *body;
    int64_t count;
    struct gw_message message = {.type = GW_MESSAGE_retry, .retry = {.job = job, .index = index}};
    int rc = gw_session_ask(client, &call, &message, &message.retry.request, UINT64_MAX, error);
    if (rc == 0)
        rc = gw_rpc_decode(&call, &body, error);
    gw_rpc_close(&call, client);
    if (rc < 0)
        return rc;
    rc = gw_value_get_i64(body, &count, error);
    gw_value_unref(body);
    if (rc == 0)
        *tasks = (uint32_t)count;
    return rc;
}

int gw_job_retry(struct gw_client *client, uint64_t job, uint32_t *tasks, struct gw_error *error)
{
    return retry(client, job, GW_INDEX_ALL, tasks, error);
}

int gw_job_retry_task(struct gw_client *client, uint64_t job, uint32_t index,
                      struct gw_error *error)
{
    uint32_t tasks;
    if (index == GW_INDEX_ALL)
        return gw_error_set(error, GW_ENOENT, "job %llu has no task %u", (unsigned long long)job,
                            index);
    return retry(client, job, index, &tasks, error);
}

static int ask(struct gw_client *client, uint64_t job, uint32_t verb, struct gw_error *error)
{
    struct gw_rpc call;
    struct gw_message message = {.type = GW_MESSAGE_gang_ask,
                                 .gang_ask = {.job = job, .verb = verb}};
    int rc = gw_session_ask(client, &call, &message, &message.gang_ask.request, UINT64_MAX, error);
    gw_rpc_close(&call, client);
    return rc;
}

int gw_job_restart(struct gw_client *client, uint64_t job, struct gw_error *error)
{
    return ask(client, job, GW_ASK_RESTART, error);
}

int gw_job_pause(struct gw_client *client, uint64_t job, bool now, struct gw_error *error)
{
    return ask(client, job, now ? GW_ASK_PAUSE_NOW : GW_ASK_PAUSE, error);
}

int gw_job_resume(struct gw_client *client, uint64_t job, struct gw_error *error)
{
    return ask(client, job, GW_ASK_RESUME, error);
}

int gw_job_remove(struct gw_client *client, uint64_t job, struct gw_error *error)
{
    return ask(client, job, GW_ASK_REMOVE, error);
}

int gw_job_stop(struct gw_client *client, uint64_t job, struct gw_error *error)
{
    return ask(client, job, GW_ASK_STOP, error);
}

static int ask_gpu(struct gw_client *client, struct gw_msg_gpu_ask ask, struct gw_error *error)
{
    struct gw_rpc call;
    struct gw_message message = {.type = GW_MESSAGE_gpu_ask, .gpu_ask = ask};
    int rc = gw_session_ask(client, &call, &message, &message.gpu_ask.request, UINT64_MAX, error);
    gw_rpc_close(&call, client);
    return rc;
}

int gw_gpu_drain(struct gw_client *client, const char *uuid, struct gw_error *error)
{
    return ask_gpu(client, (struct gw_msg_gpu_ask){.uuid = uuid, .drain = 1}, error);
}

int gw_gpu_undrain(struct gw_client *client, const char *uuid, struct gw_error *error)
{
    return ask_gpu(client, (struct gw_msg_gpu_ask){.uuid = uuid}, error);
}

static int ask_worker(struct gw_client *client, struct gw_msg_worker_ask ask,
                      struct gw_error *error)
{
    struct gw_rpc call;
    struct gw_message message = {.type = GW_MESSAGE_worker_ask, .worker_ask = ask};
    int rc =
        gw_session_ask(client, &call, &message, &message.worker_ask.request, UINT64_MAX, error);
    gw_rpc_close(&call, client);
    return rc;
}

int gw_worker_drain(struct gw_client *client, const char *name, const char *reason,
                    uint64_t deadline_ns, struct gw_error *error)
{
    return ask_worker(
        client,
        (struct gw_msg_worker_ask){
            .name = name, .drain = 1, .why = reason ? reason : "", .deadline_ns = deadline_ns},
        error);
}

int gw_worker_undrain(struct gw_client *client, const char *name, struct gw_error *error)
{
    return ask_worker(client, (struct gw_msg_worker_ask){.name = name, .why = ""}, error);
}

/* Asks about the job and waits for the answer. An earlier message of the scheduler about the job
 * arrives before this answer. */
static void catch_up(struct gw_client *client, uint64_t job)
{
    struct gw_value *answer = NULL, *filter = gw_dict();
    if (gw_dict_set(filter, "job", gw_i64((int64_t)job)) == 0)
        (void)query(client, "job", filter, LOOK_NS, &answer, NULL);
    gw_value_unref(answer);
    gw_value_unref(filter);
}

int gw_job_wait(struct gw_client *client, uint64_t job, uint64_t timeout_ns, int *exit_code,
                struct gw_error *error)
{
    struct gw_rpc call;
    struct gw_message message = {.type = GW_MESSAGE_wait, .wait = {.job = job}};
    int rc = gw_session_ask(client, &call, &message, &message.wait.request, timeout_ns, error);
    if (rc == GW_ETIMEDOUT) { /* a timeout shorter than a round trip is no answer: the job may have
                                 ended long ago */
        catch_up(client, job);
        rc = gw_rpc_wait(&call, client, 0, error);
    }
    if (rc == 0)
        rc = gw_rpc_read_end(&call, exit_code, error);
    gw_rpc_close(&call, client);
    return rc;
}

/* Returns the size of the caller's chunk. A caller with an older header has a shorter request, and
 * its chunk has no time. */
static size_t chunk_bytes(const struct gw_log_request *request)
{
    return request->struct_size > offsetof(struct gw_log_request, since_ns)
               ? sizeof(struct gw_log_chunk)
               : offsetof(struct gw_log_chunk, time_ns);
}

int gw_job_log(struct gw_client *client, const struct gw_log_request *given,
               struct gw_log_chunk *chunk, struct gw_error *error)
{
    struct gw_log_request read;
    const struct gw_log_request *request = &read;
    int rc = GW_OPTIONS_READ(&read, given, gw_log_request, error);
    if (rc < 0)
        return rc;
    struct gw_rpc call;
    struct gw_message message = {
        .type = GW_MESSAGE_log_read,
        .log_read = {.job = request->job,
                     .index = request->index,
                     .attempt = request->attempt,
                     .rank = request->rank,
                     .stream = request->stream,
                     .offset = request->offset,
                     .bytes_max = LOG_BYTES_MAX,
                     .follow = request->follow,
                     .holds = request->holds,
                     .after = request->attempt ? 0 : request->after,
                     .times = request->times,
                     .since_ns = request->since_ns},
    };
    rc = gw_session_ask(client, &call, &message, &message.log_read.request, UINT64_MAX, error);
    if (rc == 0) {
        struct gw_value *data = gw_bytes_copy(call.body, call.body_bytes);
        if (data) {
            struct gw_log_chunk full = {.data = data,
                                        .attempt = call.number,
                                        .next_offset = call.offset + call.body_bytes,
                                        .left_out = call.left_out,
                                        .time_ns = call.time_ns,
                                        .end = call.end};
            (void)snprintf(full.note, sizeof full.note, "%.*s", GW_LOG_NOTE_MAX - 1,
                           call.error.text);
            memcpy(chunk, &full, chunk_bytes(given));
        } else {
            rc = gw_error_set(error, GW_ENOMEM, "out of memory");
        }
    }
    gw_rpc_close(&call, client);
    return rc;
}
