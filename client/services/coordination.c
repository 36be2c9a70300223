/* Coordination: each call is one request and one answer. A waiting caller waits in the scheduler,
 * which also measures the timeout. So a timeout and the grant of a lease can never cross on the
 * way. */
#include "client/link/session.h"
#include "graph/value/value.h"
#include "graph/wire/codec.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(GW_SYNC_VALUE_BYTES_MAX == GW_SYNC_VALUE_BYTES, "one limit, two names");

/* The contents of a request. */
struct request {
    uint32_t kind, verb;
    const char *name;
    uint64_t number, timeout_ns;
    const struct gw_value *value; /* NULL: the request has no value */
};

/* Encodes the value. Returns GW_ELIMIT with a text if the value is larger than the scheduler
 * accepts. */
static int encode(const struct request *request, struct gw_buffer *buffer, struct gw_error *error)
{
    bool carries = request->verb == GW_SYNC_SET || request->verb == GW_SYNC_REPLACE ||
                   request->verb == GW_SYNC_PUT;
    if (!request->value)
        return carries && request->kind != GW_SYNC_EVENT
                   ? gw_error_set(error, GW_ENOMEM,
                                  "%s: there is no value, because the program was out of memory "
                                  "when it made it",
                                  request->name)
                   : 0;
    int rc = gw_codec_encode(request->value, NULL, buffer);
    if (rc < 0)
        return gw_error_set(error, rc, "%s: the value cannot be sent: %s", request->name,
                            rc == GW_EINVAL ? gw_value_invalid(request->value) : gw_error_text(rc));
    if (buffer->size <= GW_SYNC_VALUE_BYTES)
        return 0;
    return gw_error_set(error, GW_ELIMIT,
                        "%s: the value has %zu bytes, and %u is the most: publish it under a name "
                        "and store the name here",
                        request->name, buffer->size, GW_SYNC_VALUE_BYTES);
}

/* Sends a request and waits. If it returns 0, the answer is in *call, and the caller closes the
 * call. */
static int ask(struct gw_client *client, const struct request *request, struct gw_rpc *call,
               struct gw_error *error)
{
    struct gw_buffer value = {0};
    if (!request->name)
        return gw_error_set(error, GW_EINVAL, "a name is missing");
    int rc = gw_session_need(client, error);
    if (rc == 0)
        rc = encode(request, &value, error);
    if (rc < 0) {
        gw_buffer_deinit(&value);
        return rc;
    }
    gw_rpc_open(call, client);
    struct gw_message message = {
        .type = GW_MESSAGE_sync,
        .sync = {.request = call->request,
                 .kind = request->kind,
                 .verb = request->verb,
                 .name = request->name,
                 .number = request->number,
                 .timeout_ns = request->timeout_ns,
                 .value = {value.data, (uint32_t)value.size}},
    };
    rc = gw_rpc_send(call, client, &message, -1);
    gw_buffer_deinit(&value);
    if (rc == 0)
        rc = gw_rpc_wait(call, client, UINT64_MAX, error);
    else
        rc = rc == GW_ECLOSED ? gw_client_down_error(client, error)
                              : gw_error_set(error, rc, "%s: %s", request->name, gw_error_text(rc));
    if (rc < 0)
        gw_rpc_close(call, client);
    return rc;
}

/* Sends a request whose answer is a number or empty. */
static int tell(struct gw_client *client, const struct request *request, uint64_t *number,
                struct gw_error *error)
{
    struct gw_rpc call;
    int rc = ask(client, request, &call, error);
    if (rc < 0)
        return rc;
    if (number)
        *number = call.number;
    gw_rpc_close(&call, client);
    return 0;
}

/* -- Semaphores and locks ------------------------------------------------------------------------
 */

int gw_semaphore_open(struct gw_client *client, const char *name, uint32_t count,
                      struct gw_error *error)
{
    return tell(client,
                &(struct request){
                    .kind = GW_SYNC_SEMAPHORE, .verb = GW_SYNC_OPEN, .name = name, .number = count},
                NULL, error);
}

int gw_semaphore_acquire_fenced(struct gw_client *client, const char *name, uint64_t timeout_ns,
                                uint64_t *fence, struct gw_error *error)
{
    return tell(client,
                &(struct request){.kind = GW_SYNC_SEMAPHORE,
                                  .verb = GW_SYNC_ACQUIRE,
                                  .name = name,
                                  .timeout_ns = timeout_ns},
                fence, error);
}

int gw_semaphore_acquire(struct gw_client *client, const char *name, uint64_t timeout_ns,
                         struct gw_error *error)
{
    return gw_semaphore_acquire_fenced(client, name, timeout_ns, NULL, error);
}

int gw_semaphore_release(struct gw_client *client, const char *name, struct gw_error *error)
{
    return tell(client,
                &(struct request){.kind = GW_SYNC_SEMAPHORE, .verb = GW_SYNC_RELEASE, .name = name},
                NULL, error);
}

int gw_lock_acquire_fenced(struct gw_client *client, const char *name, uint64_t timeout_ns,
                           uint64_t *fence, struct gw_error *error)
{
    return tell(
        client,
        &(struct request){
            .kind = GW_SYNC_LOCK, .verb = GW_SYNC_ACQUIRE, .name = name, .timeout_ns = timeout_ns},
        fence, error);
}

int gw_lock_acquire(struct gw_client *client, const char *name, uint64_t timeout_ns,
                    struct gw_error *error)
{
    return gw_lock_acquire_fenced(client, name, timeout_ns, NULL, error);
}

int gw_lock_release(struct gw_client *client, const char *name, struct gw_error *error)
{
    return tell(client,
                &(struct request){.kind = GW_SYNC_LOCK, .verb = GW_SYNC_RELEASE, .name = name},
                NULL, error);
}

/* -- Events --------------------------------------------------------------------------------------
 */

static int event(struct gw_client *client, const char *name, uint32_t verb, uint64_t timeout_ns,
                 struct gw_error *error)
{
    return tell(client,
                &(struct request){
                    .kind = GW_SYNC_EVENT, .verb = verb, .name = name, .timeout_ns = timeout_ns},
                NULL, error);
}

int gw_event_set(struct gw_client *client, const char *name, struct gw_error *error)
{
    return event(client, name, GW_SYNC_SET, 0, error);
}

int gw_event_clear(struct gw_client *client, const char *name, struct gw_error *error)
{
    return event(client, name, GW_SYNC_CLEAR, 0, error);
}

int gw_event_wait(struct gw_client *client, const char *name, uint64_t timeout_ns,
                  struct gw_error *error)
{
    return event(client, name, GW_SYNC_WAIT, timeout_ns, error);
}

/* -- Variables -----------------------------------------------------------------------------------
 */

int gw_variable_set(struct gw_client *client, const char *name, const struct gw_value *value,
                    uint64_t *now, struct gw_error *error)
{
    return tell(client,
                &(struct request){
                    .kind = GW_SYNC_VARIABLE, .verb = GW_SYNC_SET, .name = name, .value = value},
                now, error);
}

int gw_variable_replace(struct gw_client *client, const char *name, uint64_t version,
                        const struct gw_value *value, uint64_t *now, struct gw_error *error)
{
    return tell(client,
                &(struct request){.kind = GW_SYNC_VARIABLE,
                                  .verb = GW_SYNC_REPLACE,
                                  .name = name,
                                  .number = version,
                                  .value = value},
                now, error);
}

int gw_variable_next(struct gw_client *client, const char *name, uint64_t timeout_ns,
                     struct gw_variable *variable, struct gw_error *error)
{
    struct gw_rpc call;
    struct gw_value *value;
    int rc = ask(client,
                 &(struct request){.kind = GW_SYNC_VARIABLE,
                                   .verb = GW_SYNC_WAIT,
                                   .name = name,
                                   .number = variable->version,
                                   .timeout_ns = timeout_ns},
                 &call, error);
    if (rc < 0)
        return rc;
    rc = gw_codec_decode(call.body, call.body_bytes, NULL, &value, error);
    if (rc == 0)
        *variable = (struct gw_variable){value, call.number};
    gw_rpc_close(&call, client);
    return rc;
}

int gw_variable_get(struct gw_client *client, const char *name, uint64_t timeout_ns,
                    struct gw_variable *variable, struct gw_error *error)
{
    struct gw_variable found = {0};
    int rc = gw_variable_next(client, name, timeout_ns, &found, error);
    if (rc == 0)
        *variable = found;
    return rc;
}

/* -- Queues --------------------------------------------------------------------------------------
 */

int gw_queue_open(struct gw_client *client, const char *name, uint32_t count_max,
                  struct gw_error *error)
{
    return tell(client,
                &(struct request){
                    .kind = GW_SYNC_QUEUE, .verb = GW_SYNC_OPEN, .name = name, .number = count_max},
                NULL, error);
}

int gw_queue_put(struct gw_client *client, const char *name, const struct gw_value *value,
                 uint64_t timeout_ns, struct gw_error *error)
{
    return tell(client,
                &(struct request){.kind = GW_SYNC_QUEUE,
                                  .verb = GW_SYNC_PUT,
                                  .name = name,
                                  .timeout_ns = timeout_ns,
                                  .value = value},
                NULL, error);
}

/* Decodes the values of an answer. Each value follows its size. */
static int decode_many(const struct gw_rpc *call, struct gw_queue_batch *batch,
                       struct gw_error *error)
{
    const uint8_t *at = call->body, *end = call->body + call->body_bytes;
    uint32_t count = 0, size;
    int rc = call->number <= batch->max ? 0 : GW_EPROTO;
    for (; count < call->number && rc == 0; count++) {
        if (end - at < 4)
            rc = GW_EPROTO;
        if (rc == 0) {
            memcpy(&size, at, sizeof size);
            at += 4;
            rc = size > (size_t)(end - at) ? GW_EPROTO : 0;
        }
        if (rc == 0)
            rc = gw_codec_decode(at, size, NULL, &batch->values[count], error);
        if (rc < 0)
            break;
        at += size;
    }
    if (rc == 0) {
        batch->count = count;
        return 0;
    }
    while (count > 0)
        gw_value_unref(batch->values[--count]);
    return gw_error_set(error, rc, "the scheduler's answer with values of a queue is malformed: %s",
                        gw_error_text(rc));
}

int gw_queue_get_many(struct gw_client *client, const char *name, uint64_t timeout_ns,
                      struct gw_queue_batch *batch, struct gw_error *error)
{
    struct gw_rpc call;
    if (batch->max == 0)
        return gw_error_set(
            error, GW_EINVAL,
            "queue %s: the caller's array has room for 0 values: give room for at least one", name);
    int rc = ask(client,
                 &(struct request){.kind = GW_SYNC_QUEUE,
                                   .verb = GW_SYNC_GET,
                                   .name = name,
                                   .number = batch->max,
                                   .timeout_ns = timeout_ns},
                 &call, error);
    if (rc < 0)
        return rc;
    rc = decode_many(&call, batch, error);
    gw_rpc_close(&call, client);
    return rc;
}

int gw_queue_get(struct gw_client *client, const char *name, uint64_t timeout_ns,
                 struct gw_value **value, struct gw_error *error)
{
    struct gw_queue_batch batch = {.values = value, .max = 1};
    return gw_queue_get_many(client, name, timeout_ns, &batch, error);
}

int gw_queue_close(struct gw_client *client, const char *name, struct gw_error *error)
{
    return tell(client,
                &(struct request){.kind = GW_SYNC_QUEUE, .verb = GW_SYNC_CLOSE, .name = name}, NULL,
                error);
}

/* -- All kinds of objects -----------------------------------------------------------------------
 */

int gw_sync_delete(struct gw_client *client, const char *kind, const char *name,
                   struct gw_error *error)
{
    static const char *const kinds[] = {
        [GW_SYNC_SEMAPHORE] = "semaphore", [GW_SYNC_LOCK] = "lock",   [GW_SYNC_EVENT] = "event",
        [GW_SYNC_VARIABLE] = "variable",   [GW_SYNC_QUEUE] = "queue",
    };
    for (uint32_t i = GW_SYNC_SEMAPHORE; i <= GW_SYNC_QUEUE; i++)
        if (kind && strcmp(kind, kinds[i]) == 0)
            return tell(client, &(struct request){.kind = i, .verb = GW_SYNC_DELETE, .name = name},
                        NULL, error);
    return gw_error_set(
        error, GW_EINVAL,
        "there is no kind \"%s\": the kinds are semaphore, lock, event, variable and queue",
        kind ? kind : "");
}
