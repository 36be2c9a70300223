/* Dispatches messages of the scheduler to the objects that wait for them. */
#include "client/incoming.h"

#include "client/link/descriptor.h"
#include "client/link/rpc.h"
#include "client/results/actor_batch.h"
#include "client/results/deferred_accept.h"
#include "client/results/future_group.h"
#include "client/results/parts.h"
#include "client/services/printer.h"
#include "client/services/tunnel.h"
#include "client/submit/file_upload.h"
#include "client/submit/range.h"
#include "client/submit/reconnect.h"

#include <unistd.h>

static void send_blobs(struct gw_client *client, struct gw_bin hashes)
{
    const uint8_t *hash = hashes.data;
    for (uint32_t at = 0; at + GW_HASH_BYTES <= hashes.size; at += GW_HASH_BYTES) {
        struct gw_message blob = {.type = GW_MESSAGE_blob, .blob.hash = {hash + at, GW_HASH_BYTES}};
        int fd = -1;
        if ((!client->upload ||
             gw_file_upload_give(client->upload, hash + at, at == 0, &fd, &blob.blob.bytes) < 0) &&
            (!client->program ||
             gw_program_open(client->program, hash + at, &fd, &blob.blob.bytes) < 0))
            fd = -1; /* the file was removed meanwhile: a message without a descriptor informs the
                        scheduler */
        gw_io_put(client->io, &blob, fd);
    }
}

/* Handles a failure. One message may contain the same failure for many tasks. */
static void take_failed(struct gw_client *client, const struct gw_msg_failed *message)
{
    struct gw_msg_failed one = *message;
    for (uint32_t i = 0; i <= message->more.count; i++) {
        if (i > 0)
            one.index = gw_col32_at(message->more, i - 1);
        gw_future_group_failed(client, &one);
        gw_range_failed(client, &one);
    }
}

static void client_on_message(const struct gw_message *message, const int *fds, uint8_t fd_count,
                              void *arg)
{
    struct gw_client *client = arg;
    bool answered = false;
    struct gw_future_group *over = NULL;
    gw_waiter_hold();
    pthread_mutex_lock(&client->lock);
    switch (message->type) {
    case GW_MESSAGE_done:
        gw_future_group_done(client, &message->done);
        if (client->ranges.count)
            gw_range_done(client, &message->done);
        break;
    case GW_MESSAGE_failed:
        take_failed(client, &message->failed);
        break;
    case GW_MESSAGE_opened:
        gw_parts_opened(client, &message->opened);
        break;
    case GW_MESSAGE_held:
        gw_future_group_held(client, &message->held);
        answered = gw_rpc_answer(client, message, fds, fd_count);
        break;
    case GW_MESSAGE_accepted:
    case GW_MESSAGE_rejected:
        answered = gw_deferred_accept_take(client, message, &over) ||
                   gw_rpc_answer(client, message, fds, fd_count);
        break;
    case GW_MESSAGE_printed:
        gw_printer_take(client, &message->printed);
        break;
    case GW_MESSAGE_tunnel_data:
    case GW_MESSAGE_tunnel_credit:
    case GW_MESSAGE_tunnel_close:
        gw_tunnel_on_message(client, message);
        break;
    case GW_MESSAGE_blob_want:
        send_blobs(client, message->blob_want.hashes);
        break;
    case GW_MESSAGE_refuse:
        gw_error_set(&client->refused, message->refuse.code < 0 ? message->refuse.code : GW_EPROTO,
                     "%s", message->refuse.text);
        break;
    case GW_MESSAGE_welcome:
        gw_io_envelope(client->io, message->term, message->peer);
        answered = gw_rpc_answer(client, message, fds, fd_count);
        break;
    default:
        answered = gw_rpc_answer(client, message, fds, fd_count);
        break;
    }
    pthread_mutex_unlock(&client->lock);
    gw_waiter_ring();
    if (over)
        gw_future_group_drop(over);
    for (uint8_t i = 0; i < fd_count && !answered; i++)
        close(fds[i]);
}

static void client_on_wake(void *arg)
{
    struct gw_client *client = arg;
    pthread_mutex_lock(&client->lock);
    gw_actor_batch_flush(client);
    pthread_mutex_unlock(&client->lock);
}

/* Whether the error may come from a process that is not the scheduler. While the client reconnects
 * by TCP, any process between the client and the scheduler can answer with such an error. Such an
 * error does not end the reconnect. */
static bool is_unproven(const struct gw_client *client, const struct gw_error *error)
{
    return error && client->lost && client->home_tcp &&
           (error->code == GW_EPERM || error->code == GW_EPROTO);
}

static void client_on_close(const struct gw_error *error, void *arg)
{
    struct gw_client *client = arg;
    pthread_mutex_lock(&client->lock);
    const bool unproven = is_unproven(client, error);
    if (unproven)
        client->unproven = *error;
    if (client->refused.code)
        client->down = client->refused;
    else if (client->closed)
        gw_error_set(&client->down, GW_ECLOSED, "the client was closed");
    else if (error && error->code == GW_EPERM &&
             !unproven) /* the error came before the hello message */
        gw_error_set(
            &client->down, GW_EPERM,
            "the scheduler does not know this token (%s): the token was revoked, or belongs to "
            "another cluster; `gangway token create` on the scheduler's machine makes a new one",
            error->text);
    else if (error && error->code == GW_EPROTO && !unproven)
        gw_error_set(&client->down, GW_EPROTO, "the scheduler sent a malformed message: %s",
                     error->text);
    else if (error && error->code == GW_ETIMEDOUT)
        gw_error_set(&client->down, GW_ECLOSED, "the connection to the scheduler was lost: %s",
                     error->text);
    else
        gw_error_set(&client->down, GW_ECLOSED, "the connection to the scheduler was lost");
    gw_future_group_fail_all(client, !gw_reconnect_lost(client));
    gw_descriptor_signal(client);
    pthread_cond_broadcast(&client->answered);
    gw_rpc_fail_all(client);
    gw_tunnel_fail_all(client);
    pthread_mutex_unlock(&client->lock);
    gw_deferred_accepts_closed(client);
}

void gw_incoming_open(struct gw_client *client)
{
    client->callbacks = (struct gw_io_callbacks){client_on_message, client_on_close, client_on_wake,
                                                 client, &client->turn};
}
