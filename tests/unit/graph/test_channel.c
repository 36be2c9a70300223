/* Channels over socket pairs: descriptors with their frames, in small pieces, and from hostile
 * peers. After every test this process has as many descriptors as before. */
#include "tests/unit/alloc.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/fill.h"
#include "tests/unit/unit.h"

#include "graph/wire/channel.h"
#include "graph/wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Two channels on a pair of non-blocking sockets. */
static void open_pair(struct gw_channel **a, struct gw_channel **b)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(gw_channel_new(fds[0], a), 0);
    assert_int_equal(gw_channel_new(fds[1], b), 0);
}

/* A channel whose other end is a plain socket. */
static int open_bare(struct gw_channel **channel)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(gw_channel_new(fds[0], channel), 0);
    return fds[1];
}

/* The reading end of a pipe that holds one byte, so that a test can identify the descriptor. */
static int marked_fd(uint8_t mark)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], &mark, 1), 1);
    close(fds[1]);
    return fds[0];
}

static void assert_mark(int fd, uint8_t mark)
{
    uint8_t found;
    assert_int_equal(read(fd, &found, 1), 1);
    assert_int_equal(found, mark);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}

static struct gw_message forget(uint64_t job)
{
    struct gw_message message = {.type = GW_MESSAGE_forget};
    message.forget.job = job;
    return message;
}

static const struct gw_channel_fds no_fds = {0};

static int get(struct gw_channel *channel, struct gw_message *message)
{
    int fds[GW_FRAME_FDS_MAX];
    uint8_t count;
    int rc = gw_channel_get(channel, true, message, fds, &count, NULL);
    if (rc == 0)
        assert_int_equal(count, 0);
    return rc;
}

static void messages_arrive_in_order(void **state)
{
    struct gw_channel *a, *b;
    struct gw_message message;
    int fds[GW_FRAME_FDS_MAX];
    uint8_t count;
    open_pair(&a, &b);
    for (uint64_t i = 0; i < 100; i++) {
        message = forget(i);
        assert_int_equal(gw_channel_put(a, &message, no_fds), 0);
    }
    assert_int_equal(get(b, &message), GW_EAGAIN);
    assert_true(gw_channel_queued_bytes(a) > 0);
    assert_int_equal(gw_channel_flush(a), 0);
    assert_int_equal(gw_channel_queued_bytes(a), 0);
    assert_int_equal(gw_channel_get(b, false, &message, fds, &count, NULL), GW_EAGAIN);
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(gw_channel_get(b, i == 0, &message, fds, &count, NULL), 0);
        assert_int_equal(message.forget.job, i);
    }
    assert_int_equal(get(b, &message), GW_EAGAIN);
    gw_channel_free(a);
    assert_int_equal(get(b, &message), GW_ECLOSED);
    gw_channel_free(b);
}

static void descriptors_arrive_with_their_frames(void **state)
{
    struct gw_channel *a, *b;
    struct gw_message message;
    open_pair(&a, &b);
    for (uint8_t i = 0; i < 60; i++) {
        int fds[3] = {marked_fd(i), marked_fd(i), marked_fd(i)};
        uint8_t count = i % 4;
        message = forget(i);
        assert_int_equal(gw_channel_put(a, &message, (struct gw_channel_fds){fds, count, true}), 0);
        for (int j = count; j < 3; j++)
            close(fds[j]);
    }
    assert_int_equal(gw_channel_flush(a), 0);
    for (uint8_t i = 0; i < 60; i++) {
        int fds[GW_FRAME_FDS_MAX];
        uint8_t count;
        assert_int_equal(gw_channel_get(b, true, &message, fds, &count, NULL), 0);
        assert_int_equal(message.forget.job, i);
        assert_int_equal(count, i % 4);
        while (count)
            assert_mark(fds[--count], i);
    }
    gw_channel_free(a);
    gw_channel_free(b);
}

static void borrowed_descriptors_stay_open_after_sending(void **state)
{
    struct gw_channel *a, *b;
    struct gw_message message = forget(1);
    int fds[GW_FRAME_FDS_MAX], fd = marked_fd(9);
    uint8_t count;
    open_pair(&a, &b);
    assert_int_equal(gw_channel_put(a, &message, (struct gw_channel_fds){&fd, 1, false}), 0);
    assert_int_equal(gw_channel_flush(a), 0);
    assert_int_equal(gw_channel_get(b, true, &message, fds, &count, NULL), 0);
    close(fds[0]);
    assert_mark(fd, 9);
    gw_channel_free(a);
    gw_channel_free(b);
}

/* Neither side receives the messages that are still queued; no descriptor may leak on either
 * side. */
static void unsent_and_unread_descriptors_are_closed(void **state)
{
    struct gw_channel *a, *b;
    struct gw_message message;
    open_pair(&a, &b);
    for (int i = 0; i < 3; i++) {
        int fd = marked_fd(1);
        message = forget(1);
        assert_int_equal(gw_channel_put(a, &message, (struct gw_channel_fds){&fd, 1, true}), 0);
        if (i == 1)
            assert_int_equal(gw_channel_flush(a), 0);
    }
    int fds[GW_FRAME_FDS_MAX];
    uint8_t count;
    assert_int_equal(gw_channel_get(b, true, &message, fds, &count, NULL), 0);
    close(fds[0]);
    gw_channel_free(a);
    gw_channel_free(b);

    open_pair(&a, &b);
    int fd = marked_fd(1);
    char *giant = calloc(1, GW_FRAME_BYTES_MAX);
    message = gw_fill(GW_MESSAGE_object);
    message.object.value = (struct gw_bin){giant, GW_FRAME_BYTES_MAX};
    assert_int_equal(gw_channel_put(a, &message, (struct gw_channel_fds){&fd, 1, true}), GW_ELIMIT);
    free(giant);
    gw_channel_free(a);
    gw_channel_free(b);
}

/* Large frames with descriptors pass a small socket, so writes and reads end at any byte. */
static void large_frames_pass_a_small_socket_in_pieces(void **state)
{
    enum { MESSAGES = 30 };
    struct gw_channel *a, *b;
    open_pair(&a, &b);
    int small = 4096;
    assert_int_equal(setsockopt(gw_channel_fd(a), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    uint8_t *blob = malloc(700000);
    for (uint32_t i = 0; i < 700000; i++)
        blob[i] = (uint8_t)(i * 31);
    for (uint8_t i = 0; i < MESSAGES; i++) {
        struct gw_message message = {.type = GW_MESSAGE_object};
        message.object.request = i;
        message.object.value = (struct gw_bin){blob, i % 3 == 0 ? 700000U : i * 1000U};
        int fd = marked_fd(i);
        assert_int_equal(gw_channel_put(a, &message, (struct gw_channel_fds){&fd, 1, true}), 0);
    }
    int full = 0;
    for (uint8_t i = 0; i < MESSAGES;) {
        int sent = gw_channel_flush(a);
        full += sent == GW_EAGAIN;
        assert_true(sent == 0 || sent == GW_EAGAIN);
        struct gw_message message;
        int fds[GW_FRAME_FDS_MAX];
        uint8_t count;
        int rc = gw_channel_get(b, true, &message, fds, &count, NULL);
        assert_true(rc == 0 || rc == GW_EAGAIN);
        if (rc < 0)
            continue;
        assert_int_equal(message.object.request, i);
        assert_int_equal(message.object.value.size, i % 3 == 0 ? 700000 : i * 1000);
        assert_memory_equal(message.object.value.data, blob, message.object.value.size);
        assert_int_equal(count, 1);
        assert_mark(fds[0], i++);
    }
    assert_true(full > 10);
    free(blob);
    gw_channel_free(a);
    gw_channel_free(b);
}

static void frame_decodes_if_bytes_arrive_singly(void **state)
{
    struct gw_channel *channel;
    struct gw_buffer buffer = {0};
    struct gw_message message = gw_fill(GW_MESSAGE_spec), got;
    int bare = open_bare(&channel);
    assert_int_equal(gw_message_encode(&message, 0, &buffer), 0);
    assert_int_equal(gw_message_encode(&message, 0, &buffer), 0);
    size_t messages = 0;
    for (size_t i = 0; i < buffer.size; i++) {
        assert_int_equal(write(bare, buffer.data + i, 1), 1);
        int rc = get(channel, &got);
        assert_int_equal(rc, (i + 1) % (buffer.size / 2) ? GW_EAGAIN : 0);
        if (rc < 0)
            continue;
        messages++;
        assert_null(gw_fill_difference(&message, &got));
    }
    assert_int_equal(messages, 2);
    close(bare);
    assert_int_equal(get(channel, &got), GW_ECLOSED);
    gw_buffer_deinit(&buffer);
    gw_channel_free(channel);
}

static void encoded_frames_arrive_as_messages(void **state)
{
    struct gw_channel *a, *b;
    struct gw_buffer buffer = {0};
    struct gw_message message;
    open_pair(&a, &b);
    for (uint64_t i = 0; i < 2; i++) {
        message = forget(i);
        assert_int_equal(gw_message_encode(&message, 0, &buffer), 0);
    }
    assert_int_equal(gw_channel_put_frames(a, buffer.data, buffer.size), 0);
    assert_int_equal(gw_channel_flush(a), 0);
    assert_int_equal(get(b, &message), 0);
    assert_int_equal(get(b, &message), 0);
    assert_int_equal(message.forget.job, 1);
    gw_buffer_deinit(&buffer);
    gw_channel_free(a);
    gw_channel_free(b);
}

static void messages_sent_before_closing_are_delivered(void **state)
{
    struct gw_channel *a, *b;
    struct gw_message message = forget(5);
    open_pair(&a, &b);
    assert_int_equal(gw_channel_put(a, &message, no_fds), 0);
    assert_int_equal(gw_channel_flush(a), 0);
    gw_channel_free(a);
    assert_int_equal(gw_channel_put(b, &message, no_fds), 0);
    assert_int_equal(gw_channel_flush(b), GW_ECLOSED);
    assert_int_equal(get(b, &message), 0);
    assert_int_equal(get(b, &message), GW_ECLOSED);
    gw_channel_free(b);
}

static void send_raw(int fd, const void *bytes, size_t size, const int *fds, size_t count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * 250)];
    } control = {0};
    struct iovec piece = {.iov_len = size};
    memcpy(&piece.iov_base, &bytes, sizeof bytes);
    struct msghdr header = {.msg_iov = &piece, .msg_iovlen = 1};
    if (count) {
        header.msg_control = &control;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(rights), fds, sizeof(int) * count);
    }
    assert_int_equal(sendmsg(fd, &header, MSG_NOSIGNAL), size);
}

/* Sends a forget that announces `announced` descriptors and has `brought`; returns the result of
 * get. */
static int cheat(uint8_t announced, size_t brought)
{
    struct gw_channel *channel;
    struct gw_buffer buffer = {0};
    struct gw_message message = forget(1);
    int fds[250], given[GW_FRAME_FDS_MAX];
    uint8_t count = 0;
    int bare = open_bare(&channel);
    assert_int_equal(gw_message_encode(&message, announced, &buffer), 0);
    int fd = marked_fd(1);
    for (size_t i = 0; i < brought; i++)
        fds[i] = fd;
    send_raw(bare, buffer.data, buffer.size, fds, brought);
    close(fd);
    int rc = gw_channel_get(channel, true, &message, given, &count, NULL);
    for (uint8_t i = 0; rc == 0 && i < count; i++)
        close(given[i]);
    if (rc == 0)
        rc = gw_channel_get(channel, true, &message, given, &count, NULL);
    if (rc == GW_EPROTO) /* and the failure is permanent */
        assert_int_equal(gw_channel_get(channel, true, &message, given, &count, NULL), GW_EPROTO);
    gw_buffer_deinit(&buffer);
    close(bare);
    gw_channel_free(channel);
    return rc;
}

static void wrong_descriptor_counts_are_refused(void **state)
{
    assert_int_equal(cheat(2, 2), GW_EAGAIN);
    assert_int_equal(cheat(GW_FRAME_FDS_MAX, GW_FRAME_FDS_MAX), GW_EAGAIN);
    assert_int_equal(cheat(2, 1), GW_EPROTO);
    assert_int_equal(cheat(1, 0), GW_EPROTO);
    assert_int_equal(cheat(0, 1), GW_EPROTO);
    assert_int_equal(cheat(1, 2), GW_EPROTO);
    assert_int_equal(cheat(GW_FRAME_FDS_MAX, 250), GW_EPROTO); /* the kernel drops the rest */
}

/* The peer sends more and more descriptors, but never a whole frame. */
static void peer_that_sends_only_descriptors_is_refused(void **state)
{
    struct gw_channel *channel;
    struct gw_message message;
    int bare = open_bare(&channel), fds[GW_FRAME_FDS_MAX], fd = marked_fd(1);
    uint8_t count, header[GW_FRAME_HEADER_BYTES];
    struct gw_frame_header announced = {.bytes = 1000, .fds = 1};
    gw_frame_header_write(header, &announced);
    for (size_t i = 0; i < GW_FRAME_FDS_MAX; i++)
        fds[i] = fd;
    send_raw(bare, header, sizeof header, fds, 1);
    int rc = GW_EAGAIN;
    for (int i = 0; i < 3; i++)
        send_raw(bare, "x", 1, fds, GW_FRAME_FDS_MAX);
    for (int i = 0; i < 5 && rc == GW_EAGAIN; i++)
        rc = gw_channel_get(channel, true, &message, fds, &count, NULL);
    assert_int_equal(rc, GW_EPROTO);
    close(fd);
    close(bare);
    gw_channel_free(channel);
}

static void channel_refuses_bytes_of_another_protocol(void **state)
{
    struct gw_channel *channel;
    struct gw_message message;
    struct gw_error error;
    int fds[GW_FRAME_FDS_MAX];
    uint8_t count;
    int bare = open_bare(&channel);
    send_raw(bare, "GET / HTTP/1.1\r\n\r\n", 18, NULL, 0);
    assert_int_equal(gw_channel_get(channel, true, &message, fds, &count, &error), GW_EPROTO);
    assert_string_equal(error.text, "not a Gangway peer");
    close(bare);
    gw_channel_free(channel);
}

/* A later call, perhaps from another thread, must not continue behind a message that was lost. */
static void channel_stays_failed_after_out_of_memory(void **state)
{
    struct gw_channel *a, *b;
    struct gw_message message = {.type = GW_MESSAGE_refuse, .refuse = {.text = "no"}};
    struct gw_error error;
    int fds[GW_FRAME_FDS_MAX];
    uint8_t count;
    open_pair(&a, &b);
    for (int i = 0; i < 2; i++)
        assert_int_equal(gw_channel_put(a, &message, (struct gw_channel_fds){0}), 0);
    assert_int_equal(gw_channel_flush(a), 0);
    gw_alloc_fail_after(0);
    int rc = gw_channel_get(b, true, &message, fds, &count, &error);
    gw_alloc_fail_after(-1);
    assert_int_equal(rc, GW_ENOMEM);
    assert_int_equal(gw_channel_get(b, true, &message, fds, &count, &error), GW_ENOMEM);
    assert_string_equal(error.text, "out of memory");
    gw_channel_free(a);
    gw_channel_free(b);
}

/* The allocations of a channel that reads `count` small messages, one at a time. */
static uint64_t allocations_of_small_reads(struct gw_channel *a, struct gw_channel *b, int count)
{
    struct gw_message message;
    gw_alloc_fail_after(-1);
    uint64_t putting = 0;
    for (int i = 0; i < count; i++) {
        uint64_t before = gw_alloc_count();
        message = forget(1);
        assert_int_equal(gw_channel_put(a, &message, no_fds), 0);
        assert_int_equal(gw_channel_flush(a), 0);
        putting += gw_alloc_count() - before;
        assert_int_equal(get(b, &message), 0);
        assert_int_equal(message.forget.job, 1);
        assert_int_equal(get(b, &message), GW_EAGAIN);
    }
    return gw_alloc_count() - putting;
}

static void buffer_of_a_large_frame_is_freed_afterwards(void **state)
{
    enum { LARGE = 900 << 10, SMALL_READS = 100 };
    struct gw_channel *a, *b;
    char *value = calloc(1, LARGE);
    assert_non_null(value);
    open_pair(&a, &b);
    (void)allocations_of_small_reads(a, b, 1); /* allocations made only once */
    uint64_t usual = allocations_of_small_reads(a, b, SMALL_READS);

    struct gw_message message = gw_fill(GW_MESSAGE_object);
    message.object.value = (struct gw_bin){value, LARGE};
    assert_int_equal(gw_channel_put(a, &message, no_fds), 0);
    int rc;
    do {
        (void)gw_channel_flush(a);
        rc = get(b, &message);
    } while (rc == GW_EAGAIN);
    assert_int_equal(rc, 0);
    assert_int_equal(message.object.value.size, LARGE);

    assert_int_equal(allocations_of_small_reads(a, b, SMALL_READS), usual + 1);
    assert_int_equal(allocations_of_small_reads(a, b, SMALL_READS), usual);
    gw_channel_free(a);
    gw_channel_free(b);
    free(value);
}

#define CHANNEL_TEST(test) COUNTED(test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHANNEL_TEST(messages_arrive_in_order),
        CHANNEL_TEST(descriptors_arrive_with_their_frames),
        CHANNEL_TEST(borrowed_descriptors_stay_open_after_sending),
        CHANNEL_TEST(unsent_and_unread_descriptors_are_closed),
        CHANNEL_TEST(large_frames_pass_a_small_socket_in_pieces),
        CHANNEL_TEST(frame_decodes_if_bytes_arrive_singly),
        CHANNEL_TEST(encoded_frames_arrive_as_messages),
        CHANNEL_TEST(messages_sent_before_closing_are_delivered),
        CHANNEL_TEST(wrong_descriptor_counts_are_refused),
        CHANNEL_TEST(peer_that_sends_only_descriptors_is_refused),
        CHANNEL_TEST(channel_refuses_bytes_of_another_protocol),
        CHANNEL_TEST(channel_stays_failed_after_out_of_memory),
        CHANNEL_TEST(buffer_of_a_large_frame_is_freed_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
