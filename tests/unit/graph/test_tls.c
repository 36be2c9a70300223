/* TLS by keys, below channels and links: values as bytes, refusals with a reason, and every failure
 * of a handshake. After every test this process has as many descriptors as before. */
#include "tests/unit/descriptors.h"
#include "tests/unit/fill.h"
#include "tests/unit/unit.h"

#include "graph/wire/endpoint.h"
#include "graph/wire/frame.h"
#include "graph/wire/link.h"
#include "graph/wire/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct gw_tls_key alice = {.identity = "alice", .secret = {1, 2, 3}};

static bool find_alice(const char *identity, uint8_t secret[GW_TLS_SECRET_BYTES], void *arg)
{
    (void)arg;
    if (strcmp(identity, alice.identity) != 0)
        return false;
    memcpy(secret, alice.secret, GW_TLS_SECRET_BYTES);
    return true;
}

/* OpenSSL and libuv may open descriptors of their own on their first use. */
static int setup(void **state)
{
    struct gw_transport *transport;
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(gw_tls_connect(fds[0], &alice, &transport, NULL), 0);
    (void)transport->flush(transport, NULL);
    transport->free(transport);
    close(fds[1]);
    uv_loop_t loop;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    return descriptors_setup(state);
}

static void open_pair(const struct gw_tls_key *key, struct gw_transport **a,
                      struct gw_transport **b)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(gw_tls_connect(fds[0], key, a, NULL), 0);
    assert_int_equal(gw_tls_accept(fds[1], find_alice, NULL, b, NULL), 0);
}

static void open_channels(struct gw_channel **a, struct gw_channel **b)
{
    struct gw_transport *transport_a, *transport_b;
    open_pair(&alice, &transport_a, &transport_b);
    assert_int_equal(gw_channel_new_over(transport_a, a), 0);
    assert_int_equal(gw_channel_new_over(transport_b, b), 0);
}

static struct gw_message forget(uint64_t job)
{
    struct gw_message message = {.type = GW_MESSAGE_forget};
    message.forget.job = job;
    return message;
}

static int filled(size_t bytes, uint8_t seed)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    uint8_t *data = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(seed + i * 7 + i / 4096);
    for (size_t at = 0; at < bytes;) {
        ssize_t wrote = write(fd, data + at, bytes - at);
        assert_true(wrote > 0);
        at += (size_t)wrote;
    }
    free(data);
    return fd;
}

static void assert_filled(int fd, size_t bytes, uint8_t seed)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, bytes);
    assert_int_equal(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    uint8_t *data = malloc(bytes + 1);
    assert_int_equal(pread(fd, data, bytes, 0), bytes);
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != (uint8_t)(seed + i * 7 + i / 4096))
            fail_msg("byte %zu", i);
    free(data);
    close(fd);
}

/* The next message at `to`, while `from` sends its queue. */
static void pass(struct gw_channel *from, struct gw_channel *to, struct gw_message *message,
                 int *fds, uint8_t *fd_count)
{
    struct gw_error error;
    for (;;) {
        int rc = gw_channel_flush(from);
        assert_true(rc == 0 || rc == GW_EAGAIN);
        rc = gw_channel_flush(to);
        assert_true(rc == 0 || rc == GW_EAGAIN);
        rc = gw_channel_get(to, true, message, fds, fd_count, &error);
        if (rc == 0)
            return;
        if (rc != GW_EAGAIN)
            fail_msg("%s", error.text);
        struct gw_message none;
        int none_fds[GW_FRAME_FDS_MAX];
        uint8_t none_count;
        assert_int_equal(gw_channel_get(from, true, &none, none_fds, &none_count, NULL),
                         GW_EAGAIN); /* the other half of the handshake */
    }
}

static void tls_carries_messages_and_values_both_ways(void **state)
{
    static const size_t sizes[] = {0, 1, 4095, 3 << 20, 70000, 17};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    struct gw_channel *ends[2];
    int fds[GW_FRAME_FDS_MAX];
    uint8_t count;
    struct gw_message message;
    (void)state;
    open_channels(&ends[0], &ends[1]);
    for (int way = 0; way < 2; way++) {
        struct gw_channel *from = ends[way], *to = ends[!way];
        for (uint64_t i = 0; i < 200; i++) {
            uint8_t values = i % 50 == 7 ? 3 : i % 50 == 8 ? 1 : 0;
            for (uint8_t k = 0; k < values; k++)
                fds[k] = filled(sizes[(i / 50 + k) % SIZES], (uint8_t)(i + k));
            message = forget(i);
            assert_int_equal(
                gw_channel_put(from, &message, (struct gw_channel_fds){fds, values, true}), 0);
        }
        for (uint64_t i = 0; i < 200; i++) {
            uint8_t values = i % 50 == 7 ? 3 : i % 50 == 8 ? 1 : 0;
            pass(from, to, &message, fds, &count);
            assert_int_equal(message.forget.job, i);
            assert_int_equal(count, values);
            for (uint8_t k = 0; k < values; k++)
                assert_filled(fds[k], sizes[(i / 50 + k) % SIZES], (uint8_t)(i + k));
        }
    }
    gw_channel_free(ends[0]);
    assert_int_equal(gw_channel_get(ends[1], true, &message, fds, &count, NULL), GW_ECLOSED);
    gw_channel_free(ends[1]);
}

static void tls_refuses_descriptors_other_than_files(void **state)
{
    struct gw_channel *a, *b;
    struct gw_message message = forget(1);
    int fds[2];
    (void)state;
    open_channels(&a, &b);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(gw_channel_put(a, &message, (struct gw_channel_fds){fds, 2, true}),
                     GW_ENOTSUP);
    assert_int_equal(gw_channel_queued_bytes(a), 0);
    gw_channel_free(a);
    gw_channel_free(b);
}

static void truncated_value_over_tls_is_not_delivered(void **state)
{
    struct gw_channel *a, *b;
    struct gw_message message = forget(1);
    int fds[GW_FRAME_FDS_MAX] = {filled(3 << 20, 1)};
    uint8_t count;
    (void)state;
    open_channels(&a, &b);
    assert_int_equal(gw_channel_put(a, &message, (struct gw_channel_fds){fds, 1, true}), 0);
    for (int i = 0; i < 8; i++) { /* the handshake, and the content of a socket buffer */
        (void)gw_channel_flush(a);
        assert_int_equal(gw_channel_get(b, true, &message, fds, &count, NULL), GW_EAGAIN);
        (void)gw_channel_flush(b);
        assert_int_equal(gw_channel_get(a, true, &message, fds, &count, NULL), GW_EAGAIN);
    }
    gw_channel_free(a);
    int rc;
    while ((rc = gw_channel_get(b, true, &message, fds, &count, NULL)) == GW_EAGAIN)
        ;
    assert_int_equal(rc, GW_ECLOSED);
    gw_channel_free(b);
}

/* Runs a handshake until both sides know its result. */
static void shake(struct gw_transport *a, struct gw_transport *b, int *rc_a, int *rc_b,
                  struct gw_error *error_a, struct gw_error *error_b)
{
    char byte;
    size_t got;
    *rc_a = *rc_b = GW_EAGAIN;
    for (int turn = 0; turn < 20; turn++) {
        if (*rc_a == GW_EAGAIN)
            *rc_a = a->flush(a, error_a);
        if (*rc_a == GW_EAGAIN)
            *rc_a = a->read(a, &byte, 1, &got, error_a);
        if (*rc_b == GW_EAGAIN)
            *rc_b = b->flush(b, error_b);
        if (*rc_b == GW_EAGAIN)
            *rc_b = b->read(b, &byte, 1, &got, error_b);
    }
}

static void tls_proves_the_identity_of_both_sides(void **state)
{
    struct gw_transport *a, *b;
    struct gw_error error_a, error_b;
    int rc_a, rc_b;
    (void)state;
    open_pair(&alice, &a, &b);
    assert_null(gw_tls_identity(b));
    shake(a, b, &rc_a, &rc_b, &error_a, &error_b);
    assert_int_equal(rc_a, 0);
    assert_int_equal(rc_b, 0);
    assert_string_equal(gw_tls_identity(a), "alice");
    assert_string_equal(gw_tls_identity(b), "alice");
    a->free(a);
    b->free(b);

    struct gw_tls_key wrong = alice;
    wrong.secret[31] ^= 1;
    open_pair(&wrong, &a, &b);
    shake(a, b, &rc_a, &rc_b, &error_a, &error_b);
    assert_int_equal(rc_a, GW_EPERM);
    assert_int_equal(rc_b, GW_EPERM);
    assert_non_null(strstr(error_a.text, "refused the key 'alice'"));
    assert_non_null(strstr(error_b.text, "does not have the key 'alice'"));
    assert_null(gw_tls_identity(a));
    assert_null(gw_tls_identity(b));
    a->free(a);
    b->free(b);

    struct gw_tls_key mallory = {.identity = "mallory"};
    open_pair(&mallory, &a, &b);
    shake(a, b, &rc_a, &rc_b, &error_a, &error_b);
    assert_int_equal(rc_a, GW_EPERM);
    assert_int_equal(rc_b, GW_EPERM);
    assert_non_null(strstr(error_b.text, "there is no key 'mallory'"));
    a->free(a);
    b->free(b);
}

static void tls_refuses_a_malformed_handshake(void **state)
{
    static const char *const greetings[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01",
                                            "\x10\0\0\0\0\0GW\x94\1\2\3\4"};
    struct gw_transport *b;
    struct gw_error error;
    char byte;
    size_t got;
    (void)state;
    for (size_t i = 0; i < sizeof greetings / sizeof *greetings; i++) {
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
                         0);
        assert_int_equal(gw_tls_accept(fds[1], find_alice, NULL, &b, &error), 0);
        size_t bytes = i == 2 ? 13 : strlen(greetings[i]);
        assert_int_equal(write(fds[0], greetings[i], bytes), bytes);
        close(fds[0]);
        int rc = GW_EAGAIN;
        for (int turn = 0; turn < 5 && rc == GW_EAGAIN; turn++)
            rc = b->read(b, &byte, 1, &got, &error);
        assert_true(rc == GW_EPERM || rc == GW_ECLOSED);
        assert_true(*error.text);
        b->free(b);
    }
}

/* A connection over TCP after its handshake. */
static void open_tcp_pair(struct gw_transport **a, struct gw_transport **b)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct gw_error error_a, error_b;
    int rc_a, rc_b, to, from, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(to, (struct sockaddr *)&address, size), 0);
    assert_int_equal(fcntl(to, F_SETFL, O_NONBLOCK), 0);
    from = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(from >= 0);
    close(listener);
    assert_int_equal(gw_tls_connect(to, &alice, a, NULL), 0);
    assert_int_equal(gw_tls_accept(from, find_alice, NULL, b, NULL), 0);
    shake(*a, *b, &rc_a, &rc_b, &error_a, &error_b);
    assert_int_equal(rc_a, 0);
    assert_int_equal(rc_b, 0);
}

/* Closes the socket below a transport, by FIN or by RST, without a TLS message. */
static void pull(struct gw_transport *transport, bool resets)
{
    const struct linger linger = {.l_onoff = 1};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_true(null >= 0);
    if (resets)
        assert_int_equal(setsockopt(transport->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger),
                         0);
    assert_true(dup3(null, transport->fd, O_CLOEXEC) >= 0);
    close(null);
}

/* A broken connection can be reestablished and an ended one cannot, even if a send sees the
 * failure first: the kernel reports the cause only once. */
static void connection_reset_is_not_a_tls_farewell(void **state)
{
    static const struct {
        bool resets, sends_first;
    } cases[] = {{false, false}, {false, true}, {true, false}, {true, true}};
    struct gw_transport *a, *b;
    struct gw_error error;
    char byte = 0;
    size_t count;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_tcp_pair(&a, &b);
        pull(b, cases[i].resets);
        if (cases[i].sends_first) {
            assert_int_equal(a->write(a, &byte, 1, &count, &error), 0);
            (void)a->flush(a, &error);
        }
        assert_int_equal(a->read(a, &byte, 1, &count, &error), GW_ECLOSED);
        assert_true(*error.text);
        assert_int_equal(gw_tls_ended(a), !cases[i].resets);
        a->free(a);
        b->free(b);
    }
}

/* Bytes injected by a third party, such as an alert or anything else, also do not end the
 * connection properly. */
static void forged_alert_is_not_a_tls_farewell(void **state)
{
    static const char *const said[] = {"\x15\x03\x03\x00\x02\x01\x00",
                                       "\x15\x03\x03\x00\x02\x02\x28", "HTTP/1.1 400\r\n\r\n"};
    static const size_t sizes[] = {7, 7, 16};
    struct gw_transport *a, *b;
    struct gw_error error;
    char byte;
    size_t count;
    (void)state;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        open_tcp_pair(&a, &b);
        assert_int_equal(write(b->fd, said[i], sizes[i]), sizes[i]);
        assert_int_equal(a->read(a, &byte, 1, &count, &error), GW_EIO);
        assert_false(gw_tls_ended(a));
        a->free(a);
        b->free(b);
    }
}

/* An abandoned connection sends no farewell, so the other side waits for a new connection. */
static void abandoned_connection_sends_no_tls_farewell(void **state)
{
    struct gw_transport *a, *b;
    struct gw_error error;
    char byte;
    size_t count;
    (void)state;
    for (int abandons = 0; abandons < 2; abandons++) {
        open_tcp_pair(&a, &b);
        if (abandons)
            gw_tls_abandon(b);
        b->free(b);
        assert_int_equal(a->read(a, &byte, 1, &count, &error), GW_ECLOSED);
        assert_int_equal(gw_tls_ended(a), !abandons);
        a->free(a);
    }
}

/* -- Somebody in between -- */

/* Two channels, and the code that carries their bytes: ends[i] is connected to wires[i]. */
struct carried {
    struct gw_channel *ends[2];
    int wires[2];
};

/* The bytes that one end has sent so far; *bytes: their number. */
static void overhear(const struct carried *carried, int from, char room[4096], size_t *bytes)
{
    const ssize_t got = recv(carried->wires[from], room, 4096, MSG_DONTWAIT);
    assert_true(got > 0 || (got < 0 && errno == EAGAIN));
    *bytes = got > 0 ? (size_t)got : 0;
}

static void tell(const struct carried *carried, int to, const char *bytes, size_t count)
{
    assert_int_equal(send(carried->wires[to], bytes, count, MSG_NOSIGNAL), count);
}

/* The handshake and the messages that follow it, in more turns than needed. */
static void carried_init(struct carried *carried)
{
    struct gw_transport *transports[2];
    struct gw_message message;
    int fds[2][2], values[GW_FRAME_FDS_MAX];
    uint8_t count;
    char room[4096];
    size_t bytes;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds[i]),
                         0);
        carried->wires[i] = fds[i][1];
    }
    assert_int_equal(gw_tls_connect(fds[0][0], &alice, &transports[0], NULL), 0);
    assert_int_equal(gw_tls_accept(fds[1][0], find_alice, NULL, &transports[1], NULL), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(gw_channel_new_over(transports[i], &carried->ends[i]), 0);
    for (int turn = 0; turn < 20; turn++) {
        const int i = turn % 2;
        (void)gw_channel_flush(carried->ends[i]);
        assert_int_equal(gw_channel_get(carried->ends[i], true, &message, values, &count, NULL),
                         GW_EAGAIN);
        (void)gw_channel_flush(carried->ends[i]);
        overhear(carried, i, room, &bytes);
        tell(carried, !i, room, bytes);
    }
    for (int i = 0; i < 2; i++)
        assert_non_null(gw_tls_identity(transports[i]));
}

static void carried_deinit(struct carried *carried)
{
    for (int i = 0; i < 2; i++) {
        gw_channel_free(carried->ends[i]);
        close(carried->wires[i]);
    }
}

/* A message, as its bytes on the wire. */
static void record(struct carried *carried, int from, uint64_t job, char room[4096], size_t *bytes)
{
    const struct gw_message message = forget(job);
    assert_int_equal(gw_channel_put(carried->ends[from], &message, (struct gw_channel_fds){0}), 0);
    assert_int_equal(gw_channel_flush(carried->ends[from]), 0);
    overhear(carried, from, room, bytes);
    assert_true(*bytes > 0);
}

/* A replayed record and a record whose predecessor is missing end the connection; neither that
 * record nor a later one is accepted. */
static void replayed_or_missing_tls_records_are_refused(void **state)
{
    enum { AGAIN, SKIPPED, CASES };
    (void)state;
    for (int i = 0; i < 2 * CASES; i++) {
        const int from = i % 2, to = !from;
        struct carried carried;
        struct gw_message message;
        struct gw_error error;
        char first[4096], second[4096];
        size_t first_bytes, second_bytes;
        int fds[GW_FRAME_FDS_MAX];
        uint8_t count;
        carried_init(&carried);
        record(&carried, from, 41, first, &first_bytes);
        record(&carried, from, 42, second, &second_bytes);
        if (i / 2 == AGAIN) {
            tell(&carried, to, first, first_bytes);
            assert_int_equal(gw_channel_get(carried.ends[to], true, &message, fds, &count, &error),
                             0);
            assert_int_equal(message.forget.job, 41);
            tell(&carried, to, first, first_bytes);
        }
        tell(&carried, to, second, second_bytes);
        assert_int_equal(gw_channel_get(carried.ends[to], true, &message, fds, &count, &error),
                         GW_EIO); /* an error of the connection: the other side has not sent it */
        assert_non_null(strstr(error.text, "bad record mac"));
        assert_int_equal(gw_channel_get(carried.ends[to], true, &message, fds, &count, &error),
                         GW_EIO); /* and the error is permanent */
        carried_deinit(&carried);
    }
}

/* -- On a loop -- */

struct end {
    struct gw_link *link;
    uint64_t got, values, wanted;
    int closes, code;
    char text[GW_ERROR_TEXT_MAX];
};

enum { MESSAGES = 2000, EVERY = 100, VALUE_BYTES = 1 << 20 };

static void end_on_message(struct gw_link *link, const struct gw_message *message, const int *fds,
                           uint8_t fd_count, void *arg)
{
    struct end *end = arg;
    assert_int_equal(message->forget.job, end->got++);
    for (uint8_t i = 0; i < fd_count; i++, end->values++)
        assert_filled(fds[i], VALUE_BYTES, (uint8_t)message->forget.job);
    if (end->got == end->wanted)
        gw_link_close(link);
}

static void end_on_close(struct gw_link *link, const struct gw_error *error, void *arg)
{
    struct end *end = arg;
    (void)link;
    end->closes++;
    end->code = error->code;
    (void)snprintf(end->text, sizeof end->text, "%s", error->text);
}

static void tls_link_delivers_all_messages_before_closing(void **state)
{
    uv_loop_t loop;
    struct gw_transport *a, *b;
    struct end from = {0}, to = {.wanted = MESSAGES};
    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    open_pair(&alice, &a, &b);
    struct gw_link_callbacks callbacks = {end_on_message, end_on_close, &from};
    assert_int_equal(gw_link_open_over(&loop, a, &callbacks, &from.link), 0);
    callbacks.arg = &to;
    assert_int_equal(gw_link_open_over(&loop, b, &callbacks, &to.link), 0);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        struct gw_message message = forget(i);
        int fd = i % EVERY == 0 ? filled(VALUE_BYTES, (uint8_t)i) : -1;
        assert_int_equal(
            gw_link_send(from.link, &message, (struct gw_channel_fds){&fd, fd >= 0, true}), 0);
    }
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(to.got, MESSAGES);
    assert_int_equal(to.values, MESSAGES / EVERY);
    assert_int_equal(to.closes, 1);
    assert_int_equal(from.closes, 1);
    assert_int_equal(from.code, GW_ECLOSED);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void tls_link_reports_a_refused_key(void **state)
{
    uv_loop_t loop;
    struct gw_transport *a, *b;
    struct end from = {0}, to = {0};
    struct gw_tls_key wrong = alice;
    (void)state;
    wrong.secret[0] ^= 1;
    assert_int_equal(uv_loop_init(&loop), 0);
    open_pair(&wrong, &a, &b);
    struct gw_link_callbacks callbacks = {end_on_message, end_on_close, &from};
    assert_int_equal(gw_link_open_over(&loop, a, &callbacks, &from.link), 0);
    callbacks.arg = &to;
    assert_int_equal(gw_link_open_over(&loop, b, &callbacks, &to.link), 0);
    struct gw_message message = forget(0);
    assert_int_equal(gw_link_send(from.link, &message, (struct gw_channel_fds){0}), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(to.got, 0);
    assert_int_equal(from.code, GW_EPERM);
    assert_int_equal(to.code, GW_EPERM);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* The port was free a moment ago, on an address of the loopback network that nothing else uses. */
static void tls_link_reports_connection_refused(void **state)
{
    uv_loop_t loop;
    struct gw_transport *transport;
    struct end end = {0};
    char endpoint[GW_ENDPOINT_TEXT_MAX];
    int fd;
    (void)state;
    assert_int_equal(gw_endpoint_listen("127.45.67.89", &fd, endpoint, NULL), 0);
    close(fd);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(gw_endpoint_connect(endpoint, &fd, NULL), 0);
    assert_int_equal(gw_tls_connect(fd, &alice, &transport, NULL), 0);
    struct gw_link_callbacks callbacks = {end_on_message, end_on_close, &end};
    assert_int_equal(gw_link_open_over(&loop, transport, &callbacks, &end.link), 0);
    struct gw_message message = forget(0);
    assert_int_equal(gw_link_send(end.link, &message, (struct gw_channel_fds){0}), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(end.closes, 1);
    assert_string_equal(end.text, "Connection refused");
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void derived_secret_matches_a_reference_hmac(void **state)
{
    /* HMAC-SHA256 twice, computed with Python's hmac. */
    static const uint8_t wanted[GW_TLS_SECRET_BYTES] = {
        0x99, 0xac, 0xc8, 0xf6, 0x32, 0x6b, 0x53, 0x3c, 0x52, 0xe3, 0x54,
        0x43, 0x7a, 0x84, 0x90, 0x8f, 0xbf, 0x2d, 0x07, 0xd0, 0xde, 0xf6,
        0x78, 0x89, 0x76, 0x3b, 0x95, 0xd7, 0xac, 0x26, 0xce, 0xbb};
    uint8_t secret[GW_TLS_SECRET_BYTES], derived[GW_TLS_SECRET_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof secret; i++)
        secret[i] = (uint8_t)i;
    assert_int_equal(gw_tls_secret_derive(secret, "gangway peers", derived), 0);
    assert_memory_equal(derived, wanted, sizeof derived);
    assert_int_equal(gw_tls_secret_derive(secret, "gangway peer", derived), 0);
    assert_memory_not_equal(derived, wanted, sizeof derived);
}

#define WITH_TLS(test) cmocka_unit_test_setup_teardown(test, setup, descriptors_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_TLS(tls_carries_messages_and_values_both_ways),
        WITH_TLS(tls_refuses_descriptors_other_than_files),
        WITH_TLS(truncated_value_over_tls_is_not_delivered),
        WITH_TLS(tls_proves_the_identity_of_both_sides),
        WITH_TLS(tls_refuses_a_malformed_handshake),
        WITH_TLS(connection_reset_is_not_a_tls_farewell),
        WITH_TLS(forged_alert_is_not_a_tls_farewell),
        WITH_TLS(abandoned_connection_sends_no_tls_farewell),
        WITH_TLS(replayed_or_missing_tls_records_are_refused),
        WITH_TLS(tls_link_delivers_all_messages_before_closing),
        WITH_TLS(tls_link_reports_a_refused_key),
        WITH_TLS(tls_link_reports_connection_refused),
        cmocka_unit_test(derived_secret_matches_a_reference_hmac),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
