/* Calls: a thread sends a request to the scheduler and sleeps until the answer arrives. A
 * registered call is completed exactly once: by its answer, or by the end of the connection. */
#include "client/link/rpc.h"

#include "graph/wire/codec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void gw_rpc_open(struct gw_rpc *call, struct gw_client *client)
{
    memset(call, 0, sizeof *call);
    call->fd = -1;
    gw_waiter_init(&call->waiter, NULL);
    pthread_mutex_lock(&client->lock);
    call->request = ++client->last_request;
    pthread_mutex_unlock(&client->lock);
}

int gw_rpc_expect(struct gw_rpc *call, struct gw_client *client)
{
    pthread_mutex_lock(&client->lock);
    int rc =
        client->down.code ? GW_ECLOSED : gw_map_put(&client->calls, call->request, (uintptr_t)call);
    pthread_mutex_unlock(&client->lock);
    return rc;
}

int gw_rpc_send(struct gw_rpc *call, struct gw_client *client, struct gw_message *message, int fd)
{
    int rc = gw_rpc_expect(call, client);
    if (rc == 0)
        return gw_io_put(client->io, message, fd);
    if (fd >= 0)
        close(fd);
    return rc;
}

int gw_rpc_wait(struct gw_rpc *call, struct gw_client *client, uint64_t timeout_ns,
                struct gw_error *error)
{
    size_t item;
    int rc = gw_client_sleep(client, &call->waiter, timeout_ns, &item);
    if (rc < 0)
        return gw_error_set(error, rc, "timed out");
    if (call->error.code == GW_ECLOSED && !*call->error.text) /* gw_rpc_fail_all sets no text */
        return gw_client_down_error(client, error);
    if (call->error.code < 0 && error)
        *error = call->error;
    return call->error.code;
}

int gw_rpc_exchange(struct gw_rpc *call, struct gw_client *client, struct gw_message *message,
                    uint64_t timeout_ns, struct gw_error *error)
{
    int rc = gw_rpc_send(call, client, message, -1);
    if (rc == GW_ECLOSED)
        return gw_client_down_error(client, error);
    if (rc < 0)
        return gw_error_set(error, rc, "%s", gw_error_text(rc));
    return gw_rpc_wait(call, client, timeout_ns, error);
}

void gw_rpc_close(struct gw_rpc *call, struct gw_client *client)
{
    pthread_mutex_lock(&client->lock);
    gw_map_remove(&client->calls, call->request);
    pthread_mutex_unlock(&client->lock);
    free(call->body);
    if (call->fd >= 0)
        close(call->fd);
}

/* -- Answers -------------------------------------------------------------------------------------
 */

/* The fields that all kinds of answers have in common. */
struct answer {
    uint64_t request, number, offset, left_out, time_ns;
    int code;
    const char *text;
    struct gw_bin body;
    bool end;
};

static bool answer_of(const struct gw_message *message, struct answer *answer)
{
    switch (message->type) {
    case GW_MESSAGE_accepted:
        *answer =
            (struct answer){.request = message->accepted.request, .number = message->accepted.job};
        return true;
    case GW_MESSAGE_rejected:
        *answer = (struct answer){.request = message->rejected.request,
                                  .code = message->rejected.code,
                                  .text = message->rejected.text};
        return true;
    case GW_MESSAGE_held:
        *answer = (struct answer){.request = message->held.request,
                                  .code = message->held.code,
                                  .text = message->held.text,
                                  .number = message->held.job};
        return true;
    case GW_MESSAGE_reply:
        *answer = (struct answer){.request = message->reply.request,
                                  .code = message->reply.code,
                                  .text = message->reply.text,
                                  .body = message->reply.body};
        return true;
    case GW_MESSAGE_object:
        *answer = (struct answer){.request = message->object.request,
                                  .code = message->object.code,
                                  .text = message->object.text,
                                  .number = message->object.bytes,
                                  .body = message->object.value};
        return true;
    case GW_MESSAGE_log_data:
        *answer = (struct answer){.request = message->log_data.request,
                                  .code = message->log_data.code,
                                  .text = message->log_data.text,
                                  .number = message->log_data.attempt,
                                  .offset = message->log_data.offset,
                                  .body = message->log_data.data,
                                  .left_out = message->log_data.left_out,
                                  .time_ns = message->log_data.time_ns,
                                  .end = message->log_data.end != 0};
        return true;
    case GW_MESSAGE_replicated:
        *answer = (struct answer){.request = message->replicated.request,
                                  .code = message->replicated.code,
                                  .text = message->replicated.text,
                                  .number = message->replicated.copies};
        return true;
    case GW_MESSAGE_synced:
        *answer = (struct answer){.request = message->synced.request,
                                  .code = message->synced.code,
                                  .text = message->synced.text,
                                  .number = message->synced.number,
                                  .body = message->synced.value};
        return true;
    case GW_MESSAGE_tunnel_opened:
        *answer = (struct answer){.request = message->tunnel_opened.request,
                                  .code = message->tunnel_opened.code,
                                  .text = message->tunnel_opened.text,
                                  .number = message->tunnel_opened.tunnel};
        return true;
    case GW_MESSAGE_welcome:
        *answer = (struct answer){.request = GW_REQUEST_HELLO};
        return true;
    case GW_MESSAGE_program_ready:
        *answer = (struct answer){.request = GW_REQUEST_PROGRAM,
                                  .code = message->program_ready.code,
                                  .text = message->program_ready.text};
        return true;
    default:
        return false;
    }
}

bool gw_rpc_answer(struct gw_client *client, const struct gw_message *message, const int *fds,
                   uint8_t fd_count)
{
    struct answer answer;
    uint64_t found;
    if (!answer_of(message, &answer) || !gw_map_get(&client->calls, answer.request, &found))
        return false;
    struct gw_rpc *call = (struct gw_rpc *)(uintptr_t)found;
    gw_map_remove(&client->calls, answer.request);
    call->number = answer.number;
    call->known = message->type == GW_MESSAGE_accepted && message->accepted.known;
    call->offset = answer.offset;
    call->left_out = answer.left_out;
    call->time_ns = answer.time_ns;
    call->end = answer.end;
    if (answer.code < 0)
        gw_error_set(&call->error, answer.code, "%s",
                     answer.text && *answer.text ? answer.text : gw_error_text(answer.code));
    else if (message->type == GW_MESSAGE_log_data)
        gw_error_set(&call->error, 0, "%s", answer.text);
    if (answer.body.size > 0) {
        call->body = malloc(answer.body.size);
        if (call->body)
            memcpy(call->body, answer.body.data, answer.body.size);
        else
            gw_error_set(&call->error, GW_ENOMEM, "out of memory");
        call->body_bytes = call->body ? answer.body.size : 0;
    }
    if (fd_count > 0)
        call->fd = fds[0];
    for (uint8_t i = 1; i < fd_count; i++)
        close(fds[i]);
    if (call->on_answer)
        call->on_answer(call, call->arg);
    gw_waiter_fire(&call->waiter, 0);
    return true;
}

void gw_rpc_fail_all(struct gw_client *client)
{
    size_t at = 0;
    uint64_t request, found;
    while (gw_map_next(&client->calls, &at, &request, &found)) {
        struct gw_rpc *call = (struct gw_rpc *)(uintptr_t)found;
        call->error.code = GW_ECLOSED;
        if (call->on_answer)
            call->on_answer(call, call->arg);
        gw_waiter_fire(&call->waiter, 0);
    }
    gw_map_deinit(&client->calls);
}

int gw_rpc_decode(const struct gw_rpc *call, struct gw_value **value, struct gw_error *error)
{
    if (call->body_bytes == 0) {
        *value = gw_nil();
        return *value ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    return gw_codec_decode(call->body, call->body_bytes, NULL, value, error);
}

/* The body of the answer is [code, exit_code, text]. */
int gw_rpc_read_end(const struct gw_rpc *call, int *exit_code, struct gw_error *error)
{
    struct gw_value *body;
    int64_t code, exited;
    const char *text;
    int rc = gw_rpc_decode(call, &body, error);
    if (rc < 0)
        return rc;
    if (gw_value_get_i64(gw_value_at(body, 0), &code, NULL) < 0 || code > 0 || code < INT16_MIN ||
        gw_value_get_i64(gw_value_at(body, 1), &exited, NULL) < 0 ||
        gw_value_get_str(gw_value_at(body, 2), &text, NULL) < 0) {
        rc = gw_error_set(
            error, GW_EPROTO,
            "the scheduler's answer is malformed: install one version of Gangway on both sides");
    } else {
        *exit_code = (int)exited;
        rc = code < 0 ? gw_error_set(error, (int)code, "%s", text) : 0;
    }
    gw_value_unref(body);
    return rc;
}
