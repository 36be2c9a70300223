/* Links on a loop: one write per turn, callbacks in turns of their own, and every way to end. The
 * loop runs until nothing is left on it, so a link that never closes is a test that does not end.
 */
#include "tests/unit/fill.h"
#include "tests/unit/unit.h"

#include "graph/wire/frame.h"
#include "graph/wire/link.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* One end, and the messages it received. */
struct end {
    struct gw_link *link;
    uint64_t got, last;
    int closes, code;
    uint64_t close_at;   /* closes in the message with this number */
    uint64_t pause_at;   /* pauses in it */
    bool echo, in_call;  /* in_call: a function of the link runs now */
    struct end *forward; /* forwards each message from there */
    char text[GW_ERROR_TEXT_MAX];
};

static struct gw_message forget(uint64_t job)
{
    struct gw_message message = {.type = GW_MESSAGE_forget};
    message.forget.job = job;
    return message;
}

static void send_forget(struct end *end, uint64_t job)
{
    struct gw_message message = forget(job);
    end->in_call = true;
    assert_int_equal(gw_link_send(end->link, &message, (struct gw_channel_fds){0}), 0);
    end->in_call = false;
}

static void end_on_message(struct gw_link *link, const struct gw_message *message, const int *fds,
                           uint8_t fd_count, void *arg)
{
    struct end *end = arg;
    assert_false(end->in_call);
    assert_int_equal(end->closes, 0);
    for (uint8_t i = 0; i < fd_count; i++)
        close(fds[i]);
    if (message->type != GW_MESSAGE_forget)
        return;
    assert_int_equal(message->forget.job, end->last + 1);
    end->got++;
    end->last = message->forget.job;
    if (end->echo)
        send_forget(end, message->forget.job);
    if (end->forward)
        send_forget(end->forward, message->forget.job);
    if (end->pause_at == end->last)
        gw_link_pause(link);
    if (end->close_at == end->last)
        gw_link_close(link);
}

static void end_on_close(struct gw_link *link, const struct gw_error *error, void *arg)
{
    struct end *end = arg;
    assert_false(end->in_call);
    end->closes++;
    end->code = error->code;
    memcpy(end->text, error->text, sizeof end->text);
}

static void open_end(uv_loop_t *loop, int fd, struct end *end)
{
    struct gw_link_callbacks callbacks = {end_on_message, end_on_close, end};
    assert_int_equal(gw_link_open(loop, fd, &callbacks, &end->link), 0);
}

static void make_pair(int type, int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds), 0);
}

static void open_pair(uv_loop_t *loop, struct end *a, struct end *b)
{
    int fds[2];
    uv_loop_init(loop);
    make_pair(SOCK_STREAM, fds);
    open_end(loop, fds[0], a);
    open_end(loop, fds[1], b);
}

static void run(uv_loop_t *loop)
{
    assert_int_equal(uv_run(loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(loop), 0);
}

static void closing_a_link_flushes_queued_messages(void **state)
{
    uv_loop_t loop;
    struct end a = {0}, b = {.echo = true, .close_at = 1000};
    open_pair(&loop, &a, &b);
    struct ucred peer;
    assert_int_equal(gw_link_peer(a.link, &peer), 0);
    assert_int_equal(peer.uid, getuid());
    for (uint64_t i = 1; i <= 1000; i++)
        send_forget(&a, i);
    assert_true(gw_link_queued_bytes(a.link) > 0);
    run(&loop);
    assert_int_equal(b.got, 1000);
    assert_int_equal(a.got, 1000); /* the echoes were flushed by closing */
    assert_int_equal(a.closes, 1);
    assert_int_equal(b.closes, 1);
    assert_int_equal(a.code, GW_ECLOSED);
    assert_int_equal(b.code, 0);
}

/* A packet socket preserves the boundaries of writes. */
static void link_writes_once_per_loop_turn(void **state)
{
    uv_loop_t loop;
    struct end a = {0};
    int fds[2];
    uv_loop_init(&loop);
    make_pair(SOCK_SEQPACKET, fds);
    open_end(&loop, fds[0], &a);
    char bytes[4096];
    struct gw_buffer one = {0};
    struct gw_message message = forget(1);
    gw_message_encode(&message, 0, &one);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 10; i++)
            send_forget(&a, 1);
        assert_int_equal(recv(fds[1], bytes, sizeof bytes, MSG_DONTWAIT), -1);
        uv_run(&loop, UV_RUN_NOWAIT);
        assert_int_equal(recv(fds[1], bytes, sizeof bytes, MSG_DONTWAIT), 10 * one.size);
        assert_int_equal(recv(fds[1], bytes, sizeof bytes, MSG_DONTWAIT), -1);
    }
    gw_link_close(a.link);
    run(&loop);
    assert_int_equal(a.closes, 1);
    close(fds[1]);
    gw_buffer_deinit(&one);
}

static void delayed_message_is_sent_with_the_next_message(void **state)
{
    uv_loop_t loop;
    struct end a = {0};
    int fds[2];
    char bytes[4096];
    struct gw_message message = forget(1);
    struct gw_buffer one = {0};
    gw_message_encode(&message, 0, &one);
    uv_loop_init(&loop);
    make_pair(SOCK_SEQPACKET, fds);
    open_end(&loop, fds[0], &a);
    assert_int_equal(gw_link_hold(a.link, &message), 0);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(recv(fds[1], bytes, sizeof bytes, MSG_DONTWAIT), -1);
    send_forget(&a, 1);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(recv(fds[1], bytes, sizeof bytes, MSG_DONTWAIT), 2 * one.size);
    assert_int_equal(gw_link_hold(a.link, &message), 0);
    gw_link_urge(a.link);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(recv(fds[1], bytes, sizeof bytes, MSG_DONTWAIT), one.size);
    assert_int_equal(gw_link_hold(a.link, &message), 0);
    gw_link_close(a.link);
    assert_int_equal(recv(fds[1], bytes, sizeof bytes, MSG_DONTWAIT), one.size);
    assert_int_equal(gw_link_hold(a.link, &message), 0); /* dropped */
    run(&loop);
    close(fds[1]);
    gw_buffer_deinit(&one);
}

static void prepare_on_turn(uv_prepare_t *prepare)
{
    uv_prepare_stop(prepare);
    uv_close((uv_handle_t *)prepare, NULL);
    send_forget(prepare->data, 1);
}

/* The message is sent just before the loop sleeps, and no other event will wake the loop. */
static void message_from_a_prepare_callback_is_sent(void **state)
{
    uv_loop_t loop;
    uv_prepare_t prepare;
    struct end a = {0}, b = {.close_at = 1};
    open_pair(&loop, &a, &b);
    uv_prepare_init(&loop, &prepare);
    prepare.data = &a;
    uv_prepare_start(&prepare, prepare_on_turn);
    run(&loop);
    assert_int_equal(b.got, 1);
}

/* A message goes from a to b and, forwarded, from c to d, which closes: three hops without
 * another event. */
static void message_is_forwarded_across_three_hops(void **state)
{
    uv_loop_t loop;
    int fds[2];
    struct end a = {0}, b = {0}, c = {0}, d = {.close_at = 50};
    open_pair(&loop, &a, &b);
    make_pair(SOCK_STREAM, fds);
    open_end(&loop, fds[0], &c);
    open_end(&loop, fds[1], &d);
    b.forward = &c;
    for (uint64_t i = 1; i <= 50; i++)
        send_forget(&a, i);
    while (!d.closes)
        uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(d.got, 50);
    gw_link_close(a.link);
    run(&loop);
    assert_int_equal(b.closes + c.closes, 2);
}

static void closing_in_a_callback_drops_later_messages(void **state)
{
    uv_loop_t loop;
    struct end a = {0}, b = {.close_at = 3};
    open_pair(&loop, &a, &b);
    for (uint64_t i = 1; i <= 10; i++)
        send_forget(&a, i);
    run(&loop);
    assert_int_equal(b.got, 3);
    assert_int_equal(a.code, GW_ECLOSED);
}

static void paused_link_holds_buffered_messages_until_resume(void **state)
{
    uv_loop_t loop;
    struct end a = {0}, b = {.pause_at = 3, .close_at = 10};
    open_pair(&loop, &a, &b);
    for (uint64_t i = 1; i <= 10; i++)
        send_forget(&a, i);
    for (int i = 0; i < 5; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(b.got, 3);
    b.in_call = true;
    gw_link_resume(b.link);
    b.in_call = false;
    assert_int_equal(b.got, 3);
    run(&loop);
    assert_int_equal(b.got, 10);
}

/* The other side sends messages and disconnects while this side is still sending. */
static void messages_before_a_disconnect_are_delivered(void **state)
{
    uv_loop_t loop;
    struct end a = {0};
    int fds[2];
    struct gw_buffer words = {0};
    uv_loop_init(&loop);
    make_pair(SOCK_STREAM, fds);
    open_end(&loop, fds[0], &a);
    for (uint64_t i = 1; i <= 10000; i++) {
        struct gw_message message = forget(i);
        gw_message_encode(&message, 0, &words);
    }
    assert_int_equal(write(fds[1], words.data, words.size), words.size);
    close(fds[1]);
    send_forget(&a, 1); /* this fails first */
    run(&loop);
    assert_int_equal(a.got, 10000);
    assert_int_equal(a.code, GW_ECLOSED);
    assert_int_equal(a.closes, 1);
    gw_buffer_deinit(&words);
}

/* The peer closes without having read: that is a socket error. */
static void lose_peer(struct end *a)
{
    uv_loop_t loop;
    int fds[2];
    struct gw_buffer words = {0};
    uv_loop_init(&loop);
    make_pair(SOCK_STREAM, fds);
    for (uint64_t i = 1; i <= 10000; i++) {
        struct gw_message message = forget(i);
        gw_message_encode(&message, 0, &words);
    }
    assert_int_equal(write(fds[1], words.data, words.size), words.size);
    assert_int_equal(write(fds[0], "unread", 6), 6);
    close(fds[1]);
    open_end(&loop, fds[0], a);
    run(&loop);
    gw_buffer_deinit(&words);
}

static void messages_before_a_connection_error_are_delivered(void **state)
{
    struct end a = {0};
    lose_peer(&a);
    assert_int_equal(a.got, 10000); /* of more than one read */
    assert_int_equal(a.code, GW_ECLOSED);
    assert_string_equal(a.text, "connection closed by the other side");
}

static void paused_link_reports_a_connection_reset(void **state)
{
    struct end paused = {.pause_at = 1};
    lose_peer(&paused);
    assert_int_equal(paused.got, 1);
    assert_int_equal(paused.code, GW_EIO);
    assert_string_equal(paused.text, "Connection reset by peer");
}

/* Queued messages have filled the socket, so the loop watches the socket. */
static void link_read_by_a_thread_ends_only_after_its_return(void **state)
{
    enum { WORDS = 10000 };
    uv_loop_t loop;
    int fds[2];
    struct end a = {0};
    struct gw_buffer words = {0};
    struct gw_error error;
    uv_loop_init(&loop);
    make_pair(SOCK_STREAM, fds);
    for (uint64_t i = 1; i <= WORDS; i++) {
        struct gw_message message = forget(i);
        gw_message_encode(&message, 0, &words);
    }
    assert_int_equal(write(fds[1], words.data, words.size), words.size);
    open_end(&loop, fds[0], &a);
    gw_link_lend(a.link);
    for (uint64_t i = 1; i <= 100 * WORDS; i++)
        send_forget(&a, i);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    assert_true(gw_link_queued_bytes(a.link) > 0);
    close(fds[1]);
    for (int i = 0; i < 4; i++)
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(a.got, 0); /* the loop does not read the link, nor end it */
    assert_int_equal(a.closes, 0);
    assert_int_equal(gw_link_read(a.link, &error), 0);
    assert_true(a.got > 0 && a.got < WORDS);
    gw_link_resume(a.link);
    run(&loop);
    assert_int_equal(a.got, WORDS);
    assert_int_equal(a.code, GW_ECLOSED);
    gw_buffer_deinit(&words);
}

/* The peer reads no more, but does not close the connection. */
static void peer_that_stops_reading_closes_the_link(void **state)
{
    uv_loop_t loop;
    struct end a = {0};
    int fds[2];
    uv_loop_init(&loop);
    make_pair(SOCK_STREAM, fds);
    open_end(&loop, fds[0], &a);
    shutdown(fds[1], SHUT_RD);
    send_forget(&a, 1);
    run(&loop);
    assert_int_equal(a.code, GW_ECLOSED);
    close(fds[1]);
}

static void malformed_bytes_close_the_link_with_the_cause(void **state)
{
    uv_loop_t loop;
    struct end a = {0};
    int fds[2];
    uv_loop_init(&loop);
    make_pair(SOCK_STREAM, fds);
    open_end(&loop, fds[0], &a);
    assert_int_equal(write(fds[1], "GET / HTTP/1.1\r\n\r\n", 18), 18);
    run(&loop);
    assert_int_equal(a.code, GW_EPROTO);
    assert_string_equal(a.text, "not a Gangway peer");
    close(fds[1]);
}

static void link_waits_for_a_full_socket(void **state)
{
    uv_loop_t loop;
    struct end a = {0}, b = {.close_at = 300};
    open_pair(&loop, &a, &b);
    char *blob = calloc(1, 100000);
    struct gw_message message = {.type = GW_MESSAGE_object};
    message.object.value = (struct gw_bin){blob, 100000};
    for (uint64_t i = 1; i <= 300; i++) {
        assert_int_equal(gw_link_send(a.link, &message, (struct gw_channel_fds){0}), 0);
        send_forget(&a, i);
    }
    free(blob);
    run(&loop);
    assert_int_equal(b.got, 300);
}

static void messages_on_a_closing_link_are_dropped(void **state)
{
    uv_loop_t loop;
    struct end a = {0}, b = {0};
    open_pair(&loop, &a, &b);
    gw_link_close(a.link);
    gw_link_close(a.link);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct gw_message message = forget(1);
    assert_int_equal(gw_link_send(a.link, &message, (struct gw_channel_fds){&fd, 1, true}), 0);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(gw_link_send_frames(a.link, "x", 1), 0);
    assert_int_equal(gw_link_queued_bytes(a.link), 0);
    assert_int_equal(a.closes, 0);
    run(&loop);
    assert_int_equal(a.closes, 1);
    assert_int_equal(b.code, GW_ECLOSED);
}

static void link_refuses_a_descriptor_that_is_no_socket(void **state)
{
    uv_loop_t loop;
    struct gw_link *link = NULL;
    struct gw_link_callbacks callbacks = {end_on_message, end_on_close, NULL};
    uv_loop_init(&loop);
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(gw_link_open(&loop, fd, &callbacks, &link), GW_EIO);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_null(link);
    run(&loop);
}

/* Descriptors arrive with their messages, in order, however many reads that takes. */
static void end_on_descriptors(struct gw_link *link, const struct gw_message *message,
                               const int *fds, uint8_t fd_count, void *arg)
{
    struct end *end = arg;
    assert_int_equal(message->forget.job, ++end->got);
    assert_int_equal(fd_count, message->forget.job % 4);
    for (uint8_t i = 0; i < fd_count; i++) {
        uint64_t said = 0;
        assert_int_equal(pread(fds[i], &said, sizeof said, 0), sizeof said);
        assert_int_equal(said, message->forget.job + i);
        close(fds[i]);
    }
    if (end->close_at == end->got)
        gw_link_close(link);
}

static void link_delivers_descriptors_with_their_messages(void **state)
{
    enum { MESSAGES = 200 };
    uv_loop_t loop;
    int pair[2];
    struct end a = {0}, b = {.close_at = MESSAGES};
    struct gw_link_callbacks callbacks = {end_on_descriptors, end_on_close, &b};
    uv_loop_init(&loop);
    make_pair(SOCK_STREAM, pair);
    open_end(&loop, pair[0], &a);
    assert_int_equal(gw_link_open(&loop, pair[1], &callbacks, &b.link), 0);
    for (uint64_t job = 1; job <= MESSAGES; job++) {
        int fds[4];
        uint8_t count = job % 4;
        for (uint8_t i = 0; i < count; i++) {
            const uint64_t says = job + i;
            fds[i] = memfd_create("says", MFD_CLOEXEC);
            assert_int_equal(write(fds[i], &says, sizeof says), sizeof says);
        }
        struct gw_message message = forget(job);
        assert_int_equal(gw_link_send(a.link, &message, (struct gw_channel_fds){fds, count, true}),
                         0);
        if (job % 3 == 0) { /* some turns send one message, others several */
            send_forget(&b, job / 3);
            (void)uv_run(&loop, UV_RUN_NOWAIT);
        }
    }
    run(&loop);
    assert_int_equal(b.got, MESSAGES);
}

/* One link receives many bytes at once and then ends. */
static void busy_link_does_not_starve_another_link(void **state)
{
    uv_loop_t loop;
    int fds[2];
    struct end a = {0}, b = {0}, c = {0}, d = {.close_at = 1};
    char *blob = calloc(1, 900000);
    struct gw_message message = {.type = GW_MESSAGE_object};
    open_pair(&loop, &a, &b);
    make_pair(SOCK_STREAM, fds);
    open_end(&loop, fds[0], &c);
    open_end(&loop, fds[1], &d);
    message.object.value = (struct gw_bin){blob, 900000};
    for (uint64_t i = 1; i <= 20; i++) {
        assert_int_equal(gw_link_send(a.link, &message, (struct gw_channel_fds){0}), 0);
        send_forget(&a, i);
    }
    free(blob);
    send_forget(&c, 1);
    while (!d.closes)
        uv_run(&loop, UV_RUN_ONCE);
    assert_true(b.got < 20);
    while (b.got < 20)
        uv_run(&loop, UV_RUN_ONCE);
    gw_link_close(a.link);
    run(&loop);
    assert_int_equal(b.code, GW_ECLOSED);
    assert_int_equal(c.closes, 1);
}

/* A new socket has the descriptor number of a closed one. */
static void link_on_a_reused_descriptor_number_works(void **state)
{
    uv_loop_t loop;
    int fds[2], others[2];
    struct end a = {0}, b = {.close_at = 1};
    struct gw_message message = forget(1);
    struct gw_buffer words = {0};
    uv_loop_init(&loop);
    make_pair(SOCK_STREAM, fds);
    open_end(&loop, fds[0], &a);
    send_forget(&a, 1);
    uv_run(&loop, UV_RUN_NOWAIT);
    gw_link_close(a.link);
    while (!a.closes)
        uv_run(&loop, UV_RUN_NOWAIT);
    make_pair(SOCK_STREAM, others);
    assert_true(others[0] == fds[0] || dup2(others[0], fds[0]) == fds[0]);
    open_end(&loop, fds[0], &b);
    uv_run(&loop, UV_RUN_NOWAIT);
    gw_message_encode(&message, 0, &words);
    assert_int_equal(write(others[1], words.data, words.size), words.size);
    run(&loop);
    assert_int_equal(b.got, 1);
    if (others[0] != fds[0])
        close(others[0]);
    close(others[1]);
    close(fds[1]);
    gw_buffer_deinit(&words);
}

static void wake_on_timer(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, NULL);
    send_forget(timer->data, 1);
}

static void wake_on_async(uv_async_t *async)
{
    uv_close((uv_handle_t *)async, NULL);
    send_forget(async->data, 2);
}

/* A timer and an event of another thread fire while links wait. */
static void timers_and_async_events_run_beside_waiting_links(void **state)
{
    uv_loop_t loop;
    uv_timer_t timer;
    uv_async_t async;
    struct end a = {0}, b = {.close_at = 2};
    open_pair(&loop, &a, &b);
    uv_timer_init(&loop, &timer);
    uv_async_init(&loop, &async, wake_on_async);
    timer.data = async.data = &a;
    uv_timer_start(&timer, wake_on_timer, 2, 0);
    while (b.got == 0)
        uv_run(&loop, UV_RUN_ONCE);
    uv_async_send(&async);
    run(&loop);
    assert_int_equal(b.got, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closing_a_link_flushes_queued_messages),
        cmocka_unit_test(link_writes_once_per_loop_turn),
        cmocka_unit_test(delayed_message_is_sent_with_the_next_message),
        cmocka_unit_test(message_from_a_prepare_callback_is_sent),
        cmocka_unit_test(message_is_forwarded_across_three_hops),
        cmocka_unit_test(closing_in_a_callback_drops_later_messages),
        cmocka_unit_test(messages_before_a_disconnect_are_delivered),
        cmocka_unit_test(messages_before_a_connection_error_are_delivered),
        cmocka_unit_test(peer_that_stops_reading_closes_the_link),
        cmocka_unit_test(malformed_bytes_close_the_link_with_the_cause),
        cmocka_unit_test(link_waits_for_a_full_socket),
        cmocka_unit_test(messages_on_a_closing_link_are_dropped),
        cmocka_unit_test(paused_link_holds_buffered_messages_until_resume),
        cmocka_unit_test(paused_link_reports_a_connection_reset),
        cmocka_unit_test(link_read_by_a_thread_ends_only_after_its_return),
        cmocka_unit_test(link_refuses_a_descriptor_that_is_no_socket),
        cmocka_unit_test(link_delivers_descriptors_with_their_messages),
        cmocka_unit_test(busy_link_does_not_starve_another_link),
        cmocka_unit_test(timers_and_async_events_run_beside_waiting_links),
        cmocka_unit_test(link_on_a_reused_descriptor_number_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
