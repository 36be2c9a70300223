/* Sends messages over the connections of a server.
 *
 * Invariant: on a connection with a backlog, every message is added to the backlog before it is
 * sent, in the same order. While the link is broken, messages are only added to the backlog. */
#include "scheduler/net/connection.h"

#include "graph/base/log.h"
#include "graph/wire/content.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"
#include "graph/wire/tls.h"

#include <stdio.h>
#include <unistd.h>

enum {
    PRINTED_BYTES_MAX = 4 << 20
}; /* queued printed output for a client; above this, further output is left out */
/* queued bytes for a peer that does not read; above this, the peer is disconnected */
enum { QUEUED_BYTES_MAX = 64 << 20 };

void gw_connection_refuse(struct gw_connection *connection, const struct gw_error *error)
{
    struct gw_message message = {.type = GW_MESSAGE_refuse,
                                 .refuse = {.code = error->code, .text = error->text}};
    (void)gw_link_send(connection->link, &message, (struct gw_channel_fds){0});
    gw_link_close(connection->link);
}

void gw_connection_leave(struct gw_connection *connection, const char *why)
{
    struct gw_error error;
    if (why && connection->role == GW_ROLE_CLIENT) {
        (void)gw_error_set(&error, GW_ECLOSED, "%s", why);
        gw_connection_refuse(connection, &error);
    } else {
        gw_link_close(connection->link);
    }
}

void gw_connection_close_fds(const int *fds, uint8_t count)
{
    for (uint8_t i = 0; i < count; i++)
        close(fds[i]);
}

static int send_item(struct gw_connection *connection, const struct gw_backlog_item *item)
{
    return gw_link_send_frame_copies(connection->link,
                                     (struct gw_bin){item->frame, (uint32_t)item->bytes}, item->fds,
                                     item->fd_count);
}

/* Sends a message and keeps it in the backlog, so that it can be sent again if the link breaks. */
static int send_retained(struct gw_connection *connection, const struct gw_message *message,
                         const int *fds, uint8_t count)
{
    const struct gw_backlog_item *item;
    int rc = gw_backlog_add(connection->backlog, message, fds, count, &item);
    return rc < 0 || connection->broken ? rc : send_item(connection, item);
}

bool gw_connection_reachable(const struct gw_connection *connection)
{
    return !connection->link_closed || connection->broken;
}

void gw_connection_end(struct gw_connection *connection)
{
    if (connection->broken) /* on_broken ends the connection in a later turn of the loop */
        (void)uv_timer_start(&connection->hello_timer, connection->on_broken, 0, 0);
    else if (!connection->link_closed)
        gw_link_close(connection->link);
}

static void disconnect_deaf(struct gw_connection *connection)
{
    char process[32];
    (void)snprintf(process, sizeof process, "process %d", (int)connection->pid);
    gw_log_warn("%s does not read its messages: disconnected with %d MiB unsent",
                *connection->who ? connection->who : process, QUEUED_BYTES_MAX >> 20);
    gw_link_close(connection->link);
}

static void send_as_is(struct gw_connection *connection, const struct gw_message *message,
                       const int *fds, uint8_t count)
{
    int rc;
    if (connection->backlog && gw_backlog_counts(message))
        rc = send_retained(connection, message, fds, count);
    else if (connection->broken)
        return;
    else
        rc = gw_link_send_copies(connection->link, message, fds, count);
    if (rc == GW_ELIMIT && !connection->broken && count) {
        struct gw_error error;
        gw_error_set(&error, rc,
                     "the scheduler has as many files open as it may: start it with a higher limit "
                     "(ulimit -n)");
        gw_log_error("%s", error.text);
        gw_connection_refuse(connection, &error);
    } else if (rc < 0) {
        gw_log_error("cannot send message %s to a client or worker: %s",
                     gw_message_name(message->type), gw_error_text(rc));
        gw_connection_end(connection);
    } else if (connection->broken) {
        return;
    } else if (gw_link_queued_bytes(connection->link) > QUEUED_BYTES_MAX) {
        disconnect_deaf(connection);
    }
}

static void beat(struct gw_connection *connection)
{
    const struct gw_message message = {.type = GW_MESSAGE_heartbeat};
    (void)gw_link_send(connection->link, &message, (struct gw_channel_fds){0});
}

void gw_connection_beat_all(const struct gw_map *connections)
{
    size_t at = 0;
    uint64_t id, value;
    while (gw_map_next(connections, &at, &id, &value)) {
        struct gw_connection *connection = (struct gw_connection *)(uintptr_t)value;
        if (connection->beats && !connection->link_closed &&
            gw_link_queued_bytes(connection->link) == 0)
            beat(connection);
    }
}

/* Moves a large value that the scheduler holds in memory into a file, so that the receiver gets it
 * with a file descriptor as every large value. Returns the descriptor, or -1 if the message is sent
 * unchanged. */
static int give_descriptor(const struct gw_message *message, struct gw_message *changed)
{
    struct gw_error error;
    int fd = -1;
    if (message->type != GW_MESSAGE_object || message->object.value.size <= GW_INLINE_BYTES_MAX)
        return fd;
    const struct gw_bin value = message->object.value;
    *changed = *message;
    changed->object.value = (struct gw_bin){"", 0};
    if (gw_content_file((struct gw_bin){NULL, 0}, value.data, value.size, &fd, &error) < 0) {
        gw_log_error("%s", error.text);
        changed->object.code = error.code;
        changed->object.text = "the scheduler is out of descriptors, or of memory";
    }
    return fd;
}

/* Printed output is not queued for a client that reads slowly. Output beyond the limit is left out
 * and its bytes are counted. */
static bool may_print(struct gw_connection *connection, const struct gw_message *message,
                      struct gw_message *changed)
{
    uint64_t *left_out = &connection->unprinted[message->printed.stream == 2];
    if (gw_link_queued_bytes(connection->link) > PRINTED_BYTES_MAX) {
        *left_out += message->printed.left_out + message->printed.data.size;
        return false;
    }
    if (*left_out) {
        *changed = *message;
        changed->printed.left_out += *left_out;
        *left_out = 0;
    }
    return true;
}

void gw_connection_send(struct gw_connection *connection, const struct gw_message *message,
                        const int *fds, uint8_t count)
{
    struct gw_message changed = {0};
    if (message->type == GW_MESSAGE_printed && !may_print(connection, message, &changed))
        return;
    int fd = give_descriptor(message, &changed);
    if (changed.type)
        message = &changed;
    if (fd >= 0) {
        fds = &fd;
        count = 1;
    }
    send_as_is(connection, message, fds, count);
    if (fd >= 0)
        close(fd);
    if (message->type == GW_MESSAGE_welcome && connection->role == GW_ROLE_CLIENT &&
        connection->transport && !connection->link_closed) {
        connection->beats = true;
        beat(connection);
    }
}

void gw_connection_execute(struct gw_connection *connection, const struct gw_effect *effect,
                           const int *fds)
{
    if (!effect->held || connection->backlog ||
        gw_link_queued_bytes(connection->link) >
            QUEUED_BYTES_MAX) /* gw_connection_send checks the queue */
        gw_connection_send(connection, &effect->message, fds, (uint8_t)effect->token_count);
    else if (gw_link_hold(connection->link, &effect->message) < 0)
        gw_connection_end(connection);
}

static void deaf_on_message(struct gw_link *link, const struct gw_message *message, const int *fds,
                            uint8_t fd_count, void *arg)
{
    (void)link;
    (void)message;
    (void)arg;
    gw_connection_close_fds(fds, fd_count);
}

static void deaf_on_close(struct gw_link *link, const struct gw_error *error, void *arg)
{
    (void)link;
    (void)error;
    (void)arg;
}

int gw_connection_count(struct gw_connection *connection, const struct gw_message *message)
{
    if (message->type != GW_MESSAGE_spec && message->type != GW_MESSAGE_submit)
        gw_link_urge(connection->link);
    if (!connection->backlog)
        return 0;
    if (message->type == GW_MESSAGE_heartbeat)
        return gw_backlog_took(connection->backlog, message->heartbeat.taken);
    connection->taken++;
    return 0;
}

void gw_connection_retain_sent(struct gw_connection *connection)
{
    GW_MUST_PTR(connection->backlog = gw_backlog_new());
    gw_link_set_brisk(connection->link);
}

void gw_connection_reconnect(struct gw_connection *broken, const struct gw_connection *fresh,
                             const struct gw_link_callbacks *callbacks,
                             const struct gw_msg_hello *hello)
{
    const struct gw_link_callbacks deaf = {deaf_on_message, deaf_on_close, NULL};
    const struct gw_backlog_item *item;
    if (!broken->link_closed) {
        gw_link_hand_over(broken->link, &deaf);
        /* A TLS close message could overtake the message `mended`. */
        gw_tls_abandon(broken->transport);
        gw_link_close(broken->link);
    }
    broken->link = fresh->link;
    broken->transport = fresh->transport;
    broken->link_closed = broken->broken = false;
    broken->dialled = hello->dialled;
    gw_link_hand_over(broken->link, callbacks);
    gw_link_set_brisk(broken->link);

    struct gw_message reconnected = {.type = GW_MESSAGE_reconnected,
                                     .reconnected.taken = broken->taken};
    int rc = gw_link_send(broken->link, &reconnected, (struct gw_channel_fds){0});
    (void)gw_backlog_took(broken->backlog, hello->taken);
    for (uint64_t number = hello->taken + 1;
         rc == 0 && (item = gw_backlog_item(broken->backlog, number)); number++)
        rc = send_item(broken, item);
    if (rc < 0)
        gw_link_close(broken->link);
}

void gw_connection_log(const struct gw_connection *connection, const struct gw_message *message)
{
    const struct gw_msg_gang *gang = &message->gang;
    if (message->type == GW_MESSAGE_gang)
        gw_log_info("gang attempt %llu: ranks %u to %u of %u are at worker process %d",
                    (unsigned long long)gang->attempt, gang->first_rank,
                    gang->first_rank + gang->local - 1, gang->world, connection->pid);
    else if (message->type == GW_MESSAGE_gpu_undrain)
        gw_log_info("GPU %u of worker %u, which was drained, is undrained by %s",
                    message->gpu_undrain.gpu, connection->worker, message->gpu_undrain.by);
}
