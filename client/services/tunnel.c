/* Tunnels. Received bytes wait in `in` until the program reads them. There are never more than
 * GW_TUNNEL_WINDOW_BYTES of them: the other side may send only as many bytes as it has credit for,
 * and it gets new credit for bytes that were read. The client's lock guards all fields. */
#include "client/services/tunnel.h"

#include "client/link/session.h"
#include "graph/base/options_read.h"
#include "graph/wire/codec.h"

#include <stdlib.h>
#include <string.h>

struct gw_tunnel {
    struct gw_client *client;
    struct gw_rpc call;  /* used while the tunnel is opened */
    uint64_t id;         /* 0: not open yet */
    uint64_t credit;     /* number of bytes that may be written */
    uint64_t read_bytes; /* bytes that were read and not yet returned as credit */
    struct gw_buffer in;
    size_t in_taken;
    bool ended;            /* no more bytes arrive */
    struct gw_error error; /* why the tunnel has ended; code 0: open, or a normal end */
    bool over;
    pthread_cond_t changed;
};

/* -- Functions of the thread that reads messages ------------------------------------------------
 */

static void over(struct gw_tunnel *tunnel, int code, const char *text)
{
    (void)gw_map_remove(&tunnel->client->tunnels, tunnel->id);
    tunnel->over = tunnel->ended = true;
    if (code < 0)
        gw_error_set(&tunnel->error, code, "%s", text);
    pthread_cond_broadcast(&tunnel->changed);
}

/* Registers the tunnel when it is open, before a message for it can arrive. */
static void tunnel_on_answer(struct gw_rpc *call, void *arg)
{
    struct gw_tunnel *tunnel = arg;
    if (call->error.code)
        return;
    tunnel->id = call->number;
    if (gw_map_put(&tunnel->client->tunnels, tunnel->id, (uintptr_t)tunnel) < 0)
        gw_error_set(&call->error, GW_ENOMEM, "out of memory");
}

static void take(struct gw_tunnel *tunnel, struct gw_bin data)
{
    struct gw_buffer *in = &tunnel->in;
    if (tunnel->in_taken > 0) {
        memmove(in->data, in->data + tunnel->in_taken, in->size - tunnel->in_taken);
        in->size -= tunnel->in_taken;
        tunnel->in_taken = 0;
    }
    if (data.size == 0)
        tunnel->ended = true;
    else if (gw_buffer_append(in, data.data, data.size) < 0)
        over(tunnel, GW_ENOMEM, "out of memory");
    pthread_cond_broadcast(&tunnel->changed);
}

void gw_tunnel_on_message(struct gw_client *client, const struct gw_message *message)
{
    uint64_t value, id = message->type == GW_MESSAGE_tunnel_data     ? message->tunnel_data.tunnel
                         : message->type == GW_MESSAGE_tunnel_credit ? message->tunnel_credit.tunnel
                                                                     : message->tunnel_close.tunnel;
    if (!gw_map_get(&client->tunnels, id, &value))
        return; /* this client has already closed the tunnel */
    struct gw_tunnel *tunnel = (struct gw_tunnel *)(uintptr_t)value;
    if (message->type == GW_MESSAGE_tunnel_close) {
        over(tunnel, message->tunnel_close.code, message->tunnel_close.text);
    } else if (message->type == GW_MESSAGE_tunnel_credit) {
        tunnel->credit += message->tunnel_credit.bytes;
        pthread_cond_broadcast(&tunnel->changed);
    } else {
        take(tunnel, message->tunnel_data.data);
    }
}

void gw_tunnel_fail_all(struct gw_client *client)
{
    uint64_t id, value;
    for (size_t at = 0; gw_map_next(&client->tunnels, &at, &id, &value); at = 0) {
        struct gw_tunnel *tunnel = (struct gw_tunnel *)(uintptr_t)value;
        if (client->forked) /* a thread of the parent may wait there for ever */
            pthread_cond_init(&tunnel->changed, NULL);
        over(tunnel, client->down.code, client->down.text);
    }
    gw_map_deinit(&client->tunnels);
}

/* -- Opening and closing -------------------------------------------------------------------------
 */

static int encode_argv(const char *const *argv, struct gw_buffer *encoded)
{
    struct gw_value *list = gw_list();
    int rc = list ? 0 : GW_ENOMEM;
    for (; argv && *argv && rc == 0; argv++)
        rc = gw_list_push(list, gw_str(*argv));
    if (rc == 0)
        rc = gw_codec_encode(list, NULL, encoded);
    gw_value_unref(list);
    return rc;
}

static void tunnel_free(struct gw_tunnel *tunnel)
{
    gw_buffer_deinit(&tunnel->in);
    if (!tunnel->client->forked) /* a thread of the parent may wait there for ever */
        pthread_cond_destroy(&tunnel->changed);
    free(tunnel);
}

/* Starts the session if necessary, sends the request, and waits for the answer. */
static int ask(struct gw_tunnel *tunnel, struct gw_message *message, struct gw_error *error)
{
    struct gw_client *client = tunnel->client;
    struct gw_rpc *call = &tunnel->call;
    int rc = gw_session_need(client, error);
    if (rc < 0)
        return rc;
    gw_rpc_open(call, client);
    call->on_answer = tunnel_on_answer;
    call->arg = tunnel;
    message->tunnel_open.request = call->request;
    rc = gw_rpc_exchange(call, client, message, UINT64_MAX, error);
    gw_rpc_close(call, client);
    return rc;
}

int gw_tunnel_open(struct gw_client *client, const struct gw_tunnel_options *given,
                   struct gw_tunnel **out, struct gw_error *error)
{
    struct gw_tunnel_options read;
    const struct gw_tunnel_options *options = &read;
    int rc = GW_OPTIONS_READ(&read, given, gw_tunnel_options, error);
    if (rc < 0)
        return rc;
    struct gw_tunnel *tunnel = calloc(1, sizeof *tunnel);
    struct gw_buffer argv = {0};
    if (!tunnel || encode_argv(options->argv, &argv) < 0) {
        free(tunnel);
        gw_buffer_deinit(&argv);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    tunnel->client = client;
    tunnel->credit = GW_TUNNEL_WINDOW_BYTES;
    pthread_cond_init(&tunnel->changed, NULL);
    struct gw_message message = {.type = GW_MESSAGE_tunnel_open};
    message.tunnel_open = (struct gw_msg_tunnel_open){
        .job = options->job,
        .index = options->index,
        .rank = options->rank,
        .kind = options->argv    ? GW_TUNNEL_PROCESS
                : options->input ? GW_TUNNEL_INPUT
                                 : GW_TUNNEL_PORT,
        .wait = options->wait,
        .left = options->checkpoint ? GW_LEFT_CHECKPOINT : options->left,
        .cwd = "",
        .argv = {argv.data, (uint32_t)argv.size},
        .number = options->argv ? (uint32_t)options->rows << 16 | options->columns : options->port,
    };
    rc = ask(tunnel, &message, error);
    gw_buffer_deinit(&argv);
    if (rc < 0) {
        tunnel_free(tunnel);
        return rc;
    }
    *out = tunnel;
    return 0;
}

void gw_tunnel_close(struct gw_tunnel *tunnel)
{
    if (!tunnel)
        return;
    struct gw_client *client = tunnel->client;
    pthread_mutex_lock(&client->lock);
    bool tell = gw_map_remove(&client->tunnels, tunnel->id);
    pthread_mutex_unlock(&client->lock);
    const struct gw_message message = {.type = GW_MESSAGE_tunnel_close,
                                       .tunnel_close = {tunnel->id, 0, ""}};
    if (tell)
        (void)gw_io_put(client->io, &message, -1);
    tunnel_free(tunnel);
}

void gw_tunnel_break(struct gw_tunnel *tunnel)
{
    pthread_mutex_lock(&tunnel->client->lock);
    tunnel->over = tunnel->ended = true;
    if (!tunnel->error.code)
        gw_error_set(&tunnel->error, GW_ECLOSED, "the tunnel was closed");
    pthread_cond_broadcast(&tunnel->changed);
    pthread_mutex_unlock(&tunnel->client->lock);
}

/* -- Reading and writing -------------------------------------------------------------------------
 */

static int put(struct gw_tunnel *tunnel, const struct gw_message *message, struct gw_error *error)
{
    int rc = gw_io_put(tunnel->client->io, message, -1);
    if (rc == GW_ECLOSED)
        return gw_client_down_error(tunnel->client, error);
    return rc < 0 ? gw_error_set(error, rc, "%s", gw_error_text(rc)) : 0;
}

int gw_tunnel_read(struct gw_tunnel *tunnel, void *data, size_t room, size_t *bytes,
                   struct gw_error *error)
{
    struct gw_client *client = tunnel->client;
    struct gw_error why = {0};
    struct gw_message message = {.type = GW_MESSAGE_tunnel_credit};
    pthread_mutex_lock(&client->lock);
    gw_reader_handoff_suspend(&client->turn);
    while (tunnel->in_taken == tunnel->in.size && !tunnel->ended)
        pthread_cond_wait(&tunnel->changed, &client->lock);
    gw_reader_handoff_resume(&client->turn);
    size_t left = tunnel->in.size - tunnel->in_taken;
    size_t taken = left < room ? left : room;
    if (taken > 0)
        memcpy(data, tunnel->in.data + tunnel->in_taken, taken);
    else
        why = tunnel->error;
    tunnel->in_taken += taken;
    tunnel->read_bytes += taken;
    if (tunnel->read_bytes >= GW_TUNNEL_WINDOW_BYTES / 4 && !tunnel->ended) {
        message.tunnel_credit = (struct gw_msg_tunnel_credit){tunnel->id, tunnel->read_bytes};
        tunnel->read_bytes = 0;
    }
    pthread_mutex_unlock(&client->lock);
    if (why.code)
        return gw_error_set(error, why.code, "%s", why.text);
    if (message.tunnel_credit.bytes)
        (void)put(tunnel, &message, NULL); /* ignore the result: a broken connection sets `ended` */
    *bytes = taken;
    return 0;
}

/* Waits for credit and takes at most `wanted` bytes of it. Returns 0 with *error set if the tunnel
 * has ended. */
static size_t credit_wait(struct gw_tunnel *tunnel, size_t wanted, struct gw_error *error)
{
    struct gw_client *client = tunnel->client;
    pthread_mutex_lock(&client->lock);
    gw_reader_handoff_suspend(&client->turn);
    while (tunnel->credit == 0 && !tunnel->over)
        pthread_cond_wait(&tunnel->changed, &client->lock);
    gw_reader_handoff_resume(&client->turn);
    size_t bytes = wanted < GW_TUNNEL_DATA_BYTES ? wanted : GW_TUNNEL_DATA_BYTES;
    if (bytes > tunnel->credit)
        bytes = tunnel->credit;
    if (tunnel->over) {
        bytes = 0;
        gw_error_set(error, tunnel->error.code ? tunnel->error.code : GW_ECLOSED, "%s",
                     tunnel->error.code ? tunnel->error.text
                                        : "the other end has closed the tunnel");
    }
    tunnel->credit -= bytes;
    pthread_mutex_unlock(&client->lock);
    return bytes;
}

int gw_tunnel_write(struct gw_tunnel *tunnel, const void *data, size_t bytes,
                    struct gw_error *error)
{
    const uint8_t *at = data;
    while (bytes > 0) {
        struct gw_error why;
        size_t piece = credit_wait(tunnel, bytes, &why);
        if (piece == 0)
            return gw_error_set(error, why.code, "%s", why.text);
        const struct gw_message message = {
            .type = GW_MESSAGE_tunnel_data,
            .tunnel_data = {tunnel->id, {at, (uint32_t)piece}},
        };
        int rc = put(tunnel, &message, error);
        if (rc < 0)
            return rc;
        at += piece;
        bytes -= piece;
    }
    return 0;
}

int gw_tunnel_end(struct gw_tunnel *tunnel, struct gw_error *error)
{
    const struct gw_message message = {.type = GW_MESSAGE_tunnel_data,
                                       .tunnel_data = {tunnel->id, {"", 0}}};
    return put(tunnel, &message, error);
}
