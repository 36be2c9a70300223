/* Scattered values: the scheduler stores the bytes of each value as a job of one finished task.
 *
 * Sending a value and waiting for the answer are two separate steps, so that many values can be
 * under way at once. Waiting costs two context switches, which take about ten times as long as the
 * scheduler's work for a value. The scheduler accepts or refuses each value separately. If
 * gw_scatter_many gets a refusal, it releases all its values. */
#include "client/results/scatter.h"

#include "client/link/session.h"
#include "client/results/future_group.h"
#include "client/results/resubmit_log.h"
#include "graph/wire/codec.h"
#include "graph/wire/content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Limits of a batch: at most this many values are under way at once, and a batch is full when its
 * values have this many bytes. */
enum { BATCH = 256, BATCH_BYTES = 256 << 10 };

/* A value that was sent and not yet answered. */
struct scattering {
    struct gw_msg_scatter message;  /* its pointers are borrowed */
    int fd;                         /* file with a large value, or -1 */
    struct gw_resubmit_log *record; /* resubmit log; NULL: none */
    struct gw_rpc call;
    uint32_t life; /* connection on which the value was sent */
    int said;      /* 0: sent, wait for the answer; else the error of sending */
};

/* -- One value -----------------------------------------------------------------------------------
 */

/* Sends the value over the present connection. more: another value follows at once. */
static void say(struct gw_client *client, struct scattering *s, bool more, struct gw_error *error)
{
    struct gw_message message = {.type = GW_MESSAGE_scatter, .scatter = s->message};
    s->life = client->life;
    gw_rpc_open(&s->call, client);
    message.scatter.request = s->call.request;
    int copy = s->fd >= 0 && s->record ? fcntl(s->fd, F_DUPFD_CLOEXEC, 0) : s->fd;
    if (s->fd >= 0 && copy < 0) {
        s->said = gw_error_set(error, GW_ELIMIT, "scatter: %s", strerror(errno));
        return;
    }
    s->said = more && copy < 0 ? gw_rpc_expect(&s->call, client) : 0;
    if (s->said == 0 && more && copy < 0)
        s->said = gw_io_put_more(client->io, &message);
    else if (s->said == 0)
        s->said = gw_rpc_send(&s->call, client, &message, copy);
    if (s->said < 0)
        s->said = s->said == GW_ECLOSED
                      ? gw_client_down_error(client, error)
                      : gw_error_set(error, s->said, "scatter: %s", gw_error_text(s->said));
}

/* Waits for the answer and stores the job number. *there is false if the connection has ended and
 * the client reconnects; then the value has to be sent again. */
static int await(struct gw_client *client, struct scattering *s, uint64_t *job, bool *there,
                 struct gw_error *error)
{
    struct gw_resubmit_log *record = s->record;
    int rc = s->said < 0 ? s->said : gw_rpc_wait(&s->call, client, UINT64_MAX, error);
    if (rc == 0)
        *job = s->call.number;
    gw_rpc_close(&s->call, client);
    pthread_mutex_lock(&client->lock);
    *there = !record || (rc != GW_ECLOSED && !client->lost && client->life == s->life);
    if (rc == 0 && *there && record) {
        record->held = true;
        gw_resubmit_log_accept(record, *job);
    }
    pthread_mutex_unlock(&client->lock);
    return rc;
}

/* Makes the resubmit log of a value. Returns NULL if the client does not keep logs. */
static struct gw_resubmit_log *record_scatter(struct gw_client *client,
                                              const struct gw_msg_scatter *scatter, int fd)
{
    pthread_mutex_lock(&client->lock);
    struct gw_message message = {.type = GW_MESSAGE_scatter, .scatter = *scatter};
    message.scatter.request = ++client->last_request;
    pthread_mutex_unlock(&client->lock);
    struct gw_resubmit_log *record = gw_resubmit_log_new(client, message.scatter.request);
    if (record)
        gw_resubmit_log_add(record, &message, fd);
    return record;
}

/* A value as MessagePack. The buffer has the whole encoding, except for a large byte string: there
 * the buffer has only the head, and `rest` points to the caller's bytes, because a copy would cost
 * as much as writing the memory file. */
struct encoded {
    struct gw_buffer buffer;
    const void *rest;
    size_t rest_bytes;
};

/* Sends a value, which is stored in *s until finish(). If begin() fails, do not call finish(). */
static int begin(struct gw_client *client, struct scattering *s, const struct encoded *encoded,
                 bool more, struct gw_error *error)
{
    int rc = 0;
    const struct gw_bin head = {encoded->buffer.data, (uint32_t)encoded->buffer.size};
    const size_t bytes = encoded->buffer.size + encoded->rest_bytes;
    *s = (struct scattering){.message = {.bytes = bytes}, .fd = -1};
    if (encoded->rest)
        rc = gw_content_file(head, encoded->rest, encoded->rest_bytes, &s->fd, error);
    else if (bytes > GW_SCATTER_INLINE_BYTES_MAX)
        rc = gw_content_file((struct gw_bin){NULL, 0}, encoded->buffer.data, bytes, &s->fd, error);
    if (rc < 0)
        return rc;
    if (s->fd < 0)
        s->message.value = head;
    s->record = record_scatter(client, &s->message, s->fd);
    say(client, s, more, error);
    return 0;
}

/* Waits for the answer. If the scheduler disappears meanwhile, waits for the reconnect and sends
 * the value again. */
static int finish(struct gw_client *client, struct scattering *s, uint64_t *name,
                  struct gw_error *error)
{
    uint64_t job = 0;
    bool there;
    int rc = await(client, s, &job, &there, error);
    while (!there && (rc = gw_client_await(client, NULL, error)) == 0) {
        say(client, s, false, error);
        rc = await(client, s, &job, &there, error);
    }
    if (s->fd >= 0 && s->record)
        close(s->fd);
    if (rc == 0)
        *name = s->record ? s->record->name : job;
    if (rc < 0 && s->record) {
        pthread_mutex_lock(&client->lock);
        gw_resubmit_log_unref(s->record);
        pthread_mutex_unlock(&client->lock);
    }
    return rc;
}

int gw_scatter_encoded(struct gw_client *client, const void *encoded, size_t bytes, uint64_t *name,
                       struct gw_error *error)
{
    struct scattering s;
    const struct encoded whole = {.buffer = {.data = (void *)(uintptr_t)encoded, .size = bytes}};
    int rc = begin(client, &s, &whole, false, error);
    return rc < 0 ? rc : finish(client, &s, name, error);
}

/* -- Futures of values ---------------------------------------------------------------------------
 */

/* Makes the future of a value that the cluster has accepted. */
static int future_of(struct gw_client *client, const struct encoded *encoded, uint64_t name,
                     struct gw_future **future, struct gw_error *error)
{
    pthread_mutex_lock(&client->lock);
    uint64_t request = ++client->last_request;
    pthread_mutex_unlock(&client->lock);
    struct gw_future_group *group = gw_future_group_new(client, request, NULL, 1);
    const size_t bytes = encoded->buffer.size + encoded->rest_bytes;
    bool large = bytes > GW_INLINE_BYTES_MAX && !client->inlined;
    const struct gw_landing landing = {.encoded = large ? NULL : encoded->buffer.data,
                                       .bytes = (uint32_t)bytes};
    pthread_mutex_lock(&client->lock);
    struct gw_resubmit_log *record = gw_resubmit_log_find(name);
    if (!group) {
        gw_resubmit_log_let_go(client, name);
        pthread_mutex_unlock(&client->lock);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    group->record = record;
    if (record) {
        record->held = false;
        record->group = group;
    }
    group->job = client->inlined ? request : gw_resubmit_log_job(name);
    gw_future_group_set_value(&group->futures[0], 0, &landing);
    pthread_mutex_unlock(&client->lock);
    *future = &group->futures[0];
    return 0;
}

static int encode(const struct gw_client *client, const struct gw_value *value,
                  struct encoded *encoded, struct gw_error *error)
{
    size_t bytes;
    const void *rest;
    uint8_t to[GW_CODEC_HEAD_MAX];
    int rc = value ? 0 : GW_ENOMEM;
    encoded->buffer.size = encoded->rest_bytes = 0;
    encoded->rest = NULL;
    if (rc == 0 && !client->inlined && gw_value_type(value) == GW_BYTES &&
        gw_value_get_bytes(value, &rest, &bytes, NULL) == 0 &&
        bytes > GW_SCATTER_INLINE_BYTES_MAX && bytes <= UINT32_MAX) {
        const struct gw_bin head = gw_codec_bytes_head(bytes, to);
        encoded->rest = rest;
        encoded->rest_bytes = bytes;
        rc = gw_buffer_append(&encoded->buffer, head.data, head.size);
    } else if (rc == 0) {
        rc = gw_codec_encode(value, NULL, &encoded->buffer);
    }
    return rc < 0 ? gw_error_set(error, rc, "scatter: %s", gw_error_text(rc)) : 0;
}

/* Values that are under way at once. */
struct batch {
    struct scattering said[BATCH];
    struct encoded encoded[BATCH];
    size_t count, bytes;
};

/* Encodes and sends up to BATCH of `count` values. The caller calls batch_finish also after a
 * failure, for the values that were sent. */
static int batch_say(struct gw_client *client, struct batch *batch,
                     const struct gw_value *const *values, size_t count, struct gw_error *error)
{
    batch->count = batch->bytes = 0;
    bool last = false;
    int rc = 0;
    while (!last && rc == 0) {
        struct encoded *encoded = &batch->encoded[batch->count];
        rc = encode(client, values[batch->count], encoded, error);
        batch->bytes += encoded->buffer.size + encoded->rest_bytes;
        last =
            batch->count + 1 == count || batch->count + 1 == BATCH || batch->bytes >= BATCH_BYTES;
        if (rc == 0 && !client->inlined)
            rc = begin(client, &batch->said[batch->count], encoded, !last, error);
        batch->count += rc == 0;
    }
    if (!client->inlined && batch->count > 0 && (rc < 0 || batch->said[batch->count - 1].said < 0))
        gw_io_wake(
            client->io); /* the queued values were waiting for a value that does not follow */
    return rc;
}

/* Waits for the answers of a batch. Appends a future for each accepted value to `futures`, and
 * counts it in *made. Returns the first error. */
static int batch_finish(struct gw_client *client, struct batch *batch, struct gw_future **futures,
                        size_t *made, struct gw_error *error)
{
    int failed = 0;
    for (size_t i = 0; i < batch->count; i++) {
        struct gw_error *into = failed ? NULL : error;
        uint64_t name = 0;
        int rc = client->inlined ? 0 : finish(client, &batch->said[i], &name, into);
        if (rc == 0)
            rc = future_of(client, &batch->encoded[i], name, &futures[*made], into);
        *made += rc == 0;
        failed = failed ? failed : rc;
    }
    return failed;
}

int gw_scatter_many(struct gw_client *client, const struct gw_value *const *values, size_t count,
                    struct gw_future **futures, struct gw_error *error)
{
    size_t made = 0, said = 0;
    int rc = client->inlined ? 0 : gw_session_start(client, 0, error);
    struct batch *batch = rc == 0 ? calloc(1, sizeof *batch) : NULL;
    if (rc == 0 && !batch)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    while (rc == 0 && said < count) {
        rc = batch_say(client, batch, values + said, count - said, error);
        said += batch->count;
        int finished = batch_finish(client, batch, futures, &made, rc < 0 ? NULL : error);
        rc = rc < 0 ? rc : finished;
    }
    while (rc < 0 && made > 0)
        gw_future_release(futures[--made]);
    for (size_t i = 0; batch && i < BATCH; i++)
        gw_buffer_deinit(&batch->encoded[i].buffer);
    free(batch);
    return rc;
}

int gw_scatter(struct gw_client *client, const struct gw_value *value, struct gw_future **future,
               struct gw_error *error)
{
    struct scattering s;
    struct encoded encoded = {.rest = NULL};
    uint64_t name = 0;
    if (!value)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    int rc = client->inlined ? 0 : gw_session_start(client, 0, error);
    if (rc == 0)
        rc = encode(client, value, &encoded, error);
    if (rc == 0 && !client->inlined)
        rc = begin(client, &s, &encoded, false, error);
    if (rc == 0 && !client->inlined)
        rc = finish(client, &s, &name, error);
    if (rc == 0)
        rc = future_of(client, &encoded, name, future, error);
    gw_buffer_deinit(&encoded.buffer);
    return rc;
}
