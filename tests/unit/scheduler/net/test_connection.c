/* A peer that does not read: the scheduler waits up to a limit, logs the peer and the cause, and no
 * other peer is affected. Also how stored values are sent. */
#include "tests/unit/unit.h"

#include "scheduler/net/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LIMIT_BYTES = 64 << 20, VALUE_BYTES = 512 << 10, ROUNDS_MAX = 200 };

/* A connection of the scheduler, and the peer's end. */
struct side {
    struct gw_connection connection;
    struct gw_link *peer; /* NULL: the peer does not read */
    int fd;               /* the peer's socket, if it does not read */
    int closes, code;     /* of the scheduler's link */
    int sent, got;
};

static void on_message(struct gw_link *link, const struct gw_message *message, const int *fds,
                       uint8_t fd_count, void *arg)
{
    struct side *side = arg;
    (void)link;
    (void)fds;
    assert_int_equal(fd_count, 0);
    assert_int_equal(message->log_data.data.size, VALUE_BYTES);
    assert_int_equal(message->log_data.request, side->got++);
}

static void on_close(struct gw_link *link, const struct gw_error *error, void *arg)
{
    struct side *side = arg;
    (void)link;
    side->connection.link_closed = true;
    side->code = error->code;
    side->closes++;
}

static void peer_on_close(struct gw_link *link, const struct gw_error *error, void *arg)
{
    (void)link;
    (void)error;
    ((struct side *)arg)->peer = NULL;
}

static void side_open(uv_loop_t *loop, bool reads, struct side *side)
{
    const struct gw_link_callbacks callbacks = {on_message, on_close, side};
    const struct gw_link_callbacks peer_callbacks = {on_message, peer_on_close, side};
    int fds[2];
    *side = (struct side){.connection.pid = reads ? 4711 : 4712, .fd = -1};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(gw_link_open(loop, fds[0], &callbacks, &side->connection.link), 0);
    if (reads)
        assert_int_equal(gw_link_open(loop, fds[1], &peer_callbacks, &side->peer), 0);
    else
        side->fd = fds[1];
}

static void side_send(struct side *side, const char *value)
{
    struct gw_message message = {.type = GW_MESSAGE_log_data};
    message.log_data.request = (uint64_t)side->sent++;
    message.log_data.data = (struct gw_bin){value, VALUE_BYTES};
    gw_connection_send(&side->connection, &message, NULL, 0);
}

/* Redirects standard error to a file; the original is restored at the end. */
struct heard {
    int before, file;
    char text[4096];
};

static void heard_init(struct heard *heard)
{
    (void)fflush(stderr);
    heard->before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    heard->file = memfd_create("log", MFD_CLOEXEC);
    assert_true(heard->before >= 0 && heard->file >= 0);
    assert_int_equal(dup2(heard->file, STDERR_FILENO), STDERR_FILENO);
}

static void heard_deinit(struct heard *heard)
{
    assert_int_equal(dup2(heard->before, STDERR_FILENO), STDERR_FILENO);
    const ssize_t bytes = pread(heard->file, heard->text, sizeof heard->text - 1, 0);
    assert_true(bytes >= 0);
    heard->text[bytes] = '\0';
    close(heard->before);
    close(heard->file);
}

/* A peer that begins to read too late finds only the content of its socket, and then the end. */
static void read_to_the_end(int fd)
{
    static char room[1 << 16];
    size_t bytes = 0;
    ssize_t some;
    while ((some = recv(fd, room, sizeof room, MSG_DONTWAIT)) > 0)
        bytes += (size_t)some;
    assert_int_equal(some, 0);
    assert_in_range(bytes, 1, LIMIT_BYTES / 2);
}

static void peer_that_does_not_read_is_disconnected(void **state)
{
    uv_loop_t loop;
    struct side reads, deaf;
    struct heard heard;
    char *value = calloc(1, VALUE_BYTES);
    size_t queued_bytes = 0;
    (void)state;
    assert_non_null(value);
    assert_int_equal(uv_loop_init(&loop), 0);
    side_open(&loop, true, &reads);
    side_open(&loop, false, &deaf);
    heard_init(&heard);
    while (!deaf.closes && deaf.sent < ROUNDS_MAX) {
        const size_t waiting_bytes = gw_link_queued_bytes(deaf.connection.link);
        queued_bytes = waiting_bytes > queued_bytes ? waiting_bytes : queued_bytes;
        side_send(&reads, value);
        side_send(&deaf, value);
        (void)uv_run(&loop, UV_RUN_NOWAIT);
        assert_int_equal(reads.closes, 0);
    }
    heard_deinit(&heard);
    assert_int_equal(deaf.closes, 1);
    assert_int_equal(deaf.code, 0); /* the scheduler closed it */
    assert_in_range(queued_bytes, LIMIT_BYTES - VALUE_BYTES, LIMIT_BYTES);
    char *line = strstr(heard.text,
                        "process 4712 does not read its messages: disconnected with 64 MiB unsent");
    assert_non_null(line);
    assert_null(strstr(strchr(line, '\n'), "does not read")); /* logged once */
    read_to_the_end(deaf.fd);

    for (int i = 0; i < 3; i++) { /* the other peer continues */
        side_send(&reads, value);
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    }
    while (reads.got < reads.sent)
        (void)uv_run(&loop, UV_RUN_ONCE);
    gw_link_close(reads.connection.link);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(reads.closes, 1);
    assert_null(reads.peer);
    assert_int_equal(uv_loop_close(&loop), 0);
    close(deaf.fd);
    free(value);
}

/* -- What functions print ------------------------------------------------------------------------
 */

enum { PRINTED_BYTES = 64 << 10, PRINTS = 2048 }; /* twice the limit */

/* Received and omitted bytes add up to the bytes sent. */
static void printed_on_message(struct gw_link *link, const struct gw_message *message,
                               const int *fds, uint8_t fd_count, void *arg)
{
    struct side *side = arg;
    (void)link;
    (void)fds;
    (void)fd_count;
    assert_int_equal(message->type, GW_MESSAGE_printed);
    side->got += (int)(message->printed.left_out + message->printed.data.size);
}

static void print_to(struct side *side, const char *text)
{
    const struct gw_message message = {.type = GW_MESSAGE_printed,
                                       .printed = {.stream = 1, .data = {text, PRINTED_BYTES}}};
    gw_connection_send(&side->connection, &message, NULL, 0);
    side->sent += PRINTED_BYTES;
}

static void printed_output_never_disconnects_a_slow_client(void **state)
{
    uv_loop_t loop;
    struct side slow;
    const struct gw_link_callbacks reads = {printed_on_message, peer_on_close, &slow};
    char *text = calloc(1, PRINTED_BYTES);
    (void)state;
    assert_non_null(text);
    assert_int_equal(uv_loop_init(&loop), 0);
    side_open(&loop, false, &slow);
    for (int i = 0; i < PRINTS; i++) {
        print_to(&slow, text);
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(slow.closes, 0);
    assert_int_equal(gw_link_open(&loop, slow.fd, &reads, &slow.peer), 0);
    while (gw_link_queued_bytes(slow.connection.link) > 0)
        (void)uv_run(&loop, UV_RUN_ONCE);
    print_to(&slow, text); /* reports the bytes omitted before */
    while (slow.got < slow.sent)
        (void)uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(slow.got, slow.sent);
    gw_link_close(slow.connection.link);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    free(text);
}

/* -- Values that lie at the scheduler without a descriptor ---------------------------------------
 */

static void value_on_message(struct gw_link *link, const struct gw_message *message, const int *fds,
                             uint8_t fd_count, void *arg)
{
    struct side *side = arg;
    char *data = malloc(message->object.bytes);
    (void)link;
    assert_non_null(data);
    assert_int_equal(fd_count, message->object.bytes > GW_INLINE_BYTES_MAX);
    if (fd_count) {
        assert_int_equal(message->object.value.size, 0);
        assert_int_equal(pread(fds[0], data, message->object.bytes, 0), message->object.bytes);
        assert_int_equal(pwrite(fds[0], "x", 1, 0), -1); /* sealed */
        close(fds[0]);
    } else {
        memcpy(data, message->object.value.data, message->object.value.size);
    }
    for (uint64_t i = 0; i < message->object.bytes; i++)
        assert_int_equal(data[i], 'v');
    free(data);
    side->got++;
}

static int descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* A small value travels inside its message, a large value by descriptor. No descriptor stays
 * open. */
static void large_value_travels_by_descriptor(void **state)
{
    static const uint32_t sizes[] = {1, GW_INLINE_BYTES_MAX, GW_INLINE_BYTES_MAX + 1,
                                     GW_SCATTER_INLINE_BYTES_MAX};
    static char value[GW_SCATTER_INLINE_BYTES_MAX];
    uv_loop_t loop;
    struct side side;
    (void)state;
    memset(value, 'v', sizeof value);
    assert_int_equal(uv_loop_init(&loop), 0);
    side_open(&loop, true, &side);
    gw_link_hand_over(side.peer,
                      &(struct gw_link_callbacks){value_on_message, peer_on_close, &side});
    const int before = descriptors();
    for (int i = 0; i < 4; i++) {
        struct gw_message message = {.type = GW_MESSAGE_object};
        message.object.bytes = sizes[i];
        message.object.value = (struct gw_bin){value, sizes[i]};
        gw_connection_send(&side.connection, &message, NULL, 0);
    }
    while (side.got < 4)
        (void)uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(descriptors(), before);
    gw_link_close(side.connection.link);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_null(side.peer);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peer_that_does_not_read_is_disconnected),
        cmocka_unit_test(printed_output_never_disconnects_a_slow_client),
        cmocka_unit_test(large_value_travels_by_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
