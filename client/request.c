/* Requests: listings, calls on jobs by number, output. Each is one question and one answer. */
#include "client/session.h"
#include "graph/wire/codec.h"

#include <stdio.h>
#include <stdlib.h>

#define LOOK_NS (5 * UINT64_C(1000000000)) /* for a scheduler that is there to answer */

enum { LOG_BYTES_MAX = 256 << 10 };

static int query(struct gw_client *client, const char *what, const struct gw_value *arguments,
                 uint64_t timeout_ns, struct gw_value **answer, struct gw_error *error)
{
    struct gw_buffer encoded = {0};
    struct gw_value *nil = gw_nil();
    struct gw_call call;
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
        rc = gw_call_decode(&call, answer, error);
    gw_call_close(&call, client);
    gw_buffer_deinit(&encoded);
    return rc;
}

int gw_client_query(struct gw_client *client, const char *what, const struct gw_value *arguments,
                    struct gw_value **answer, struct gw_error *error)
{
    return query(client, what, arguments, UINT64_MAX, answer, error);
}

static int cancel(struct gw_client *client, const struct gw_msg_cancel *what,
                  struct gw_error *error)
{
    struct gw_call call;
    struct gw_message message = {.type = GW_MESSAGE_cancel, .cancel = *what};
    int rc = gw_session_ask(client, &call, &message, &message.cancel.request, UINT64_MAX, error);
    gw_call_close(&call, client);
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

/* Of one task, or GW_INDEX_ALL: how many run again. */
static int retry(struct gw_client *client, uint64_t job, uint32_t index, uint32_t *tasks,
                 struct gw_error *error)
{
    struct gw_call call;
    struct gw_value *body;
    int64_t count;
    struct gw_message message = {.type = GW_MESSAGE_retry, .retry = {.job = job, .index = index}};
    int rc = gw_session_ask(client, &call, &message, &message.retry.request, UINT64_MAX, error);
    if (rc == 0)
        rc = gw_call_decode(&call, &body, error);
    gw_call_close(&call, client);
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
    struct gw_call call;
    struct gw_message message = {.type = GW_MESSAGE_gang_ask,
                                 .gang_ask = {.job = job, .verb = verb}};
    int rc = gw_session_ask(client, &call, &message, &message.gang_ask.request, UINT64_MAX, error);
    gw_call_close(&call, client);
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

int gw_job_stop(struct gw_client *client, uint64_t job, struct gw_error *error)
{
    return ask(client, job, GW_ASK_STOP, error);
}

static int ask_gpu(struct gw_client *client, struct gw_msg_gpu_ask ask, struct gw_error *error)
{
    struct gw_call call;
    struct gw_message message = {.type = GW_MESSAGE_gpu_ask, .gpu_ask = ask};
    int rc = gw_session_ask(client, &call, &message, &message.gpu_ask.request, UINT64_MAX, error);
    gw_call_close(&call, client);
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

/* Until all has come that the scheduler says of a job before it says more. */
static void catch_up(struct gw_client *client, uint64_t job)
{
    struct gw_value *answer = NULL, *question = gw_dict();
    if (gw_dict_set(question, "job", gw_i64((int64_t)job)) == 0)
        (void)query(client, "job", question, LOOK_NS, &answer, NULL);
    gw_value_unref(answer);
    gw_value_unref(question);
}

int gw_job_wait(struct gw_client *client, uint64_t job, uint64_t timeout_ns, int *exit_code,
                struct gw_error *error)
{
    struct gw_call call;
    struct gw_message message = {.type = GW_MESSAGE_wait, .wait = {.job = job}};
    int rc = gw_session_ask(client, &call, &message, &message.wait.request, timeout_ns, error);
    if (rc == GW_ETIMEDOUT) { /* a time shorter than the way there and back says nothing of a job */
        catch_up(client, job);
        rc = gw_call_wait(&call, client, 0, error);
    }
    if (rc == 0)
        rc = gw_call_read_end(&call, exit_code, error);
    gw_call_close(&call, client);
    return rc;
}

int gw_job_log(struct gw_client *client, const struct gw_log_request *request,
               struct gw_log_chunk *chunk, struct gw_error *error)
{
    struct gw_call call;
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
                     .after = request->attempt ? 0 : request->after},
    };
    int rc = gw_session_ask(client, &call, &message, &message.log_read.request, UINT64_MAX, error);
    if (rc == 0) {
        struct gw_value *data = gw_bytes_copy(call.body, call.body_bytes);
        if (data) {
            *chunk = (struct gw_log_chunk){.data = data,
                                           .attempt = call.number,
                                           .next_offset = call.offset + call.body_bytes,
                                           .end = call.end};
            (void)snprintf(chunk->note, sizeof chunk->note, "%.*s", GW_LOG_NOTE_MAX - 1,
                           call.error.text);
        } else {
            rc = gw_error_set(error, GW_ENOMEM, "out of memory");
        }
    }
    gw_call_close(&call, client);
    return rc;
}
