/* Channels over a transport whose speed the test sets, in virtual time: contents are sent in pieces
 * with heartbeats between them; and peers that send wrong pieces. */
#include "tests/unit/unit.h"

#include "graph/wire/channel.h"
#include "graph/wire/frame.h"

#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* One direction of a line: the bytes written and not yet read, and how many more it accepts now.
 * With a window, a transport buffers up to that many bytes that the line does not accept (held), as
 * TLS does. */
struct line {
    uint8_t *bytes;
    size_t start, end, room, window, held;
};

enum { LINE_BYTES = 4 << 20 };

struct toy {
    struct gw_transport transport;
    struct line *in, *out;
};

static int toy_read(struct gw_transport *self, void *data, size_t bytes, size_t *got,
                    struct gw_error *error)
{
    struct line *line = ((struct toy *)self)->in;
    size_t there = line->end - line->start - line->held;
    if (there == 0)
        return gw_error_set(error, GW_EAGAIN, "nothing yet");
    *got = bytes < there ? bytes : there;
    memcpy(data, line->bytes + line->start, *got);
    line->start += *got;
    if (line->start == line->end)
        line->start = line->end = 0;
    return 0;
}

static size_t room_of(const struct line *line)
{
    if (line->window)
        return line->window - line->held;
    return line->room < LINE_BYTES - line->end ? line->room : LINE_BYTES - line->end;
}

static int toy_write(struct gw_transport *self, const void *data, size_t bytes, size_t *wrote,
                     struct gw_error *error)
{
    struct line *line = ((struct toy *)self)->out;
    size_t room = room_of(line);
    (void)error;
    if (room == 0)
        return GW_EAGAIN;
    *wrote = bytes < room ? bytes : room;
    memcpy(line->bytes + line->end, data, *wrote);
    line->end += *wrote;
    if (line->window)
        line->held += *wrote;
    else
        line->room -= *wrote;
    return 0;
}

static int toy_flush(struct gw_transport *self, struct gw_error *error)
{
    struct line *line = ((struct toy *)self)->out;
    (void)error;
    if (!line->window)
        return room_of(line) ? 0 : GW_EAGAIN;
    const size_t taken = line->held < line->room ? line->held : line->room;
    line->held -= taken;
    line->room -= taken;
    return line->held ? GW_EAGAIN : 0;
}

static bool toy_blocked(const struct gw_transport *self)
{
    const struct line *line = ((const struct toy *)self)->out;
    return line->window ? line->held > 0 : room_of(line) == 0;
}

static bool toy_pending(const struct gw_transport *self)
{
    const struct line *line = ((const struct toy *)self)->in;
    return line->end > line->start + line->held;
}

static void toy_free(struct gw_transport *self)
{
    free(self);
}

static struct gw_channel *open_toy(struct line *in, struct line *out)
{
    struct gw_channel *channel;
    struct toy *toy = malloc(sizeof *toy);
    *toy = (struct toy){{.fd = -1,
                         .read = toy_read,
                         .write = toy_write,
                         .flush = toy_flush,
                         .blocked = toy_blocked,
                         .pending = toy_pending,
                         .free = toy_free},
                        in,
                        out};
    assert_int_equal(gw_channel_new_over(&toy->transport, &channel), 0);
    return channel;
}

struct world {
    struct line there, back;
    struct gw_channel *a, *b;
};

static struct world *world_new(void)
{
    struct world *world = calloc(1, sizeof *world);
    world->there.bytes = malloc(LINE_BYTES);
    world->back.bytes = malloc(LINE_BYTES);
    world->a = open_toy(&world->back, &world->there);
    world->b = open_toy(&world->there, &world->back);
    return world;
}

static void world_free(struct world *world)
{
    gw_channel_free(world->a);
    gw_channel_free(world->b);
    free(world->there.bytes);
    free(world->back.bytes);
    free(world);
}

static void put_beat(struct gw_channel *channel, uint64_t number)
{
    struct gw_message beat = {.type = GW_MESSAGE_heartbeat, .heartbeat = {.number = number}};
    assert_int_equal(gw_channel_put(channel, &beat, (struct gw_channel_fds){0}), 0);
}

static int content(size_t bytes)
{
    int fd = memfd_create("content", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    if (bytes)
        assert_int_equal(pwrite(fd, "end", 3, (off_t)bytes - 3), 3);
    return fd;
}

static void assert_content(int fd, size_t bytes)
{
    struct stat st;
    char end[3];
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, bytes);
    if (bytes)
        assert_int_equal(pread(fd, end, 3, (off_t)bytes - 3), 3);
    if (bytes)
        assert_memory_equal(end, "end", 3);
    close(fd);
}

static void put_inputs(struct gw_channel *channel, const size_t *bytes, uint8_t count)
{
    int fds[GW_FRAME_FDS_MAX];
    struct gw_message inputs = {.type = GW_MESSAGE_inputs};
    for (uint8_t i = 0; i < count; i++)
        fds[i] = content(bytes[i]);
    assert_int_equal(gw_channel_put(channel, &inputs, (struct gw_channel_fds){fds, count, true}),
                     0);
}

/* Contents occupy a line of 1 MB/s for 60 s. Every 2 s a heartbeat is sent; each heartbeat
 * arrives within a second. */
static void heartbeats_overtake_file_contents(void **state)
{
    enum { MB = 1000000, TENTH = MB / 10 };
    const size_t sizes[] = {10 * MB, 0, 50 * MB};
    struct world *world = world_new();
    uint64_t beats = 0, seen = 0, late = 0, inputs = 0, forgets = 0, tenths = 0;
    struct gw_message message = {.type = GW_MESSAGE_forget};
    put_inputs(world->a, sizes, 3);
    assert_int_equal(gw_channel_put(world->a, &message, (struct gw_channel_fds){0}), 0);
    for (; forgets == 0 && tenths < 700; tenths++) {
        int fds[GW_FRAME_FDS_MAX], rc;
        uint8_t count;
        struct gw_error error;
        if (tenths % 20 == 0)
            put_beat(world->a, ++beats);
        world->there.room = TENTH;
        do
            rc = gw_channel_flush(world->a);
        while (rc == GW_EAGAIN && gw_channel_turn_over(world->a));
        assert_true(rc == 0 || rc == GW_EAGAIN);
        while ((rc = gw_channel_get(world->b, true, &message, fds, &count, &error)) == 0) {
            if (message.type == GW_MESSAGE_heartbeat) {
                assert_int_equal(message.heartbeat.number, ++seen);
                assert_int_equal(count, 0);
            } else if (message.type == GW_MESSAGE_inputs) {
                inputs++;
                assert_int_equal(count, 3);
                for (int i = 0; i < 3; i++)
                    assert_content(fds[i], sizes[i]);
            } else {
                assert_int_equal(inputs, 1); /* it waits its turn */
                forgets++;
            }
        }
        assert_int_equal(rc, GW_EAGAIN);
        late = seen == beats ? 0 : late + 1;
        assert_true(late <= 10);
    }
    assert_true(forgets == 1 && seen >= 30 && tenths > 590);
    assert_int_equal(gw_channel_queued_bytes(world->a), 0);
    world_free(world);
}

/* The line accepts few bytes at a time, and heartbeats never arrive in the middle of a frame. */
static void heartbeats_never_split_a_frame(void **state)
{
    static const size_t sizes[] = {300, 5};
    enum { ROUNDS = 60 };
    struct world *world = world_new();
    struct gw_message message = {.type = GW_MESSAGE_forget};
    uint64_t forgets = 0, beats = 0, inputs = 0, passed = 0, put = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        message = (struct gw_message){.type = GW_MESSAGE_forget, .forget.job = i};
        assert_int_equal(gw_channel_put(world->a, &message, (struct gw_channel_fds){0}), 0);
        if (i % 7 == 0)
            put_inputs(world->a, sizes, 2);
    }
    for (size_t step = 1; forgets < ROUNDS || beats < put || inputs < 9; step++) {
        int fds[GW_FRAME_FDS_MAX], rc;
        uint8_t count;
        struct gw_error error;
        world->there.room = step % 11 + 1;
        if (step % 5 == 0 && put < 200)
            put_beat(world->a, ++put);
        rc = gw_channel_flush(world->a);
        assert_true(rc == 0 || rc == GW_EAGAIN);
        while ((rc = gw_channel_get(world->b, true, &message, fds, &count, &error)) == 0) {
            if (message.type == GW_MESSAGE_heartbeat) {
                assert_int_equal(message.heartbeat.number, ++beats);
                passed += forgets < ROUNDS;
            } else if (message.type == GW_MESSAGE_forget) {
                assert_int_equal(message.forget.job, forgets++);
            } else {
                inputs++;
                assert_content(fds[0], 300);
                assert_content(fds[1], 5);
            }
        }
        assert_int_equal(rc, GW_EAGAIN);
        assert_true(step < 100000);
    }
    assert_true(passed > 20);
    world_free(world);
}

/* -- Cheating ------------------------------------------------------------------------------------
 */

/* How many bytes a line accepts before a heartbeat that was queued behind contents arrives. */
static size_t bytes_before_beat(bool brisk)
{
    struct world *world = world_new();
    const size_t bytes[] = {1 << 20};
    struct gw_message message;
    struct gw_error error;
    int fds[GW_FRAME_FDS_MAX];
    uint8_t count;
    size_t taken = 0;
    world->there.window = 256 << 10;
    if (brisk)
        gw_channel_set_brisk(world->a);
    put_inputs(world->a, bytes, 1);
    assert_int_equal(gw_channel_flush(world->a), GW_EAGAIN);
    put_beat(world->a, 1);
    do {
        assert_true(taken < 1 << 20);
        assert_int_equal(gw_channel_flush(world->a), GW_EAGAIN);
        world->there.room += 1 << 10;
        taken += 1 << 10;
    } while (gw_channel_get(world->b, true, &message, fds, &count, &error) == GW_EAGAIN);
    assert_int_equal(message.type, GW_MESSAGE_heartbeat);
    world_free(world);
    return taken;
}

/* Bytes already given to TLS and the socket are sent before a heartbeat, and take seconds on a
 * slow line. */
static void brisk_channel_queues_few_bytes_before_a_heartbeat(void **state)
{
    (void)state;
    assert_true(bytes_before_beat(true) <= 18 << 10);
    assert_true(bytes_before_beat(false) >= 200 << 10);
}

static void put_raw(struct line *line, const void *bytes, size_t count)
{
    memcpy(line->bytes + line->end, bytes, count);
    line->end += count;
}

static void put_frame(struct line *line, uint8_t fds)
{
    struct gw_buffer buffer = {0};
    struct gw_message message = {.type = GW_MESSAGE_forget};
    assert_int_equal(gw_message_encode(&message, fds, &buffer), 0);
    put_raw(line, buffer.data, buffer.size);
    gw_buffer_deinit(&buffer);
}

static void put_piece(struct line *line, const void *bytes, uint32_t count)
{
    uint8_t header[GW_FRAME_HEADER_BYTES];
    gw_frame_header_write(header, &(struct gw_frame_header){.bytes = count, .piece = true});
    put_raw(line, header, sizeof header);
    put_raw(line, bytes, count);
}

static void put_size(struct line *line, uint64_t size)
{
    uint64_t bytes = htole64(size);
    put_piece(line, &bytes, sizeof bytes);
}

static void assert_refused(struct world *world, const char *text)
{
    struct gw_message message;
    struct gw_error error = {0};
    int fds[GW_FRAME_FDS_MAX];
    uint8_t count;
    assert_int_equal(gw_channel_get(world->b, true, &message, fds, &count, &error), GW_EPROTO);
    assert_non_null(strstr(error.text, text));
    assert_int_equal(gw_channel_get(world->b, true, &message, fds, &count, &error), GW_EPROTO);
    world_free(world);
}

static void invalid_content_pieces_are_refused(void **state)
{
    struct world *world = world_new();
    put_size(&world->there, 3);
    assert_refused(world, "belong to no frame");

    world = world_new();
    put_frame(&world->there, 1);
    put_frame(&world->there, 1);
    assert_refused(world, "between the contents");

    world = world_new();
    put_frame(&world->there, 2);
    put_size(&world->there, 3);
    put_piece(&world->there, "abcd", 4);
    assert_refused(world, "two descriptors");

    world = world_new();
    put_frame(&world->there, 1);
    put_size(&world->there, UINT64_C(1) << 60);
    assert_refused(world, "is the most");

    world = world_new();
    put_frame(&world->there, 1);
    put_raw(&world->there, "\0\0\0\0\0\1\x47\x57", 8);
    assert_refused(world, "a piece of 0 bytes");

    world = world_new();
    put_frame(&world->there, 1);
    put_raw(&world->there, "\x01\0\x04\0\0\1\x47\x57", 8);
    assert_refused(world, "a piece of 262145 bytes");

    world = world_new();
    put_raw(&world->there, "\x01\0\0\0\0\2\x47\x57", 8);
    assert_refused(world, "not a Gangway peer");
}

/* A file, complete when it is sent; the result of its channel after the file lost most of itself
 * behind the first piece. */
static int send_shrinking(struct world *world, const struct gw_message *message, bool in_memory)
{
    char path[] = "gangway-content-XXXXXX"; /* on disk: /tmp is in memory on some systems */
    int rc,
        fd = in_memory ? memfd_create("result", MFD_CLOEXEC | MFD_ALLOW_SEALING) : mkstemp(path);
    assert_true(fd >= 0 && (in_memory || unlink(path) == 0) && ftruncate(fd, 1 << 20) == 0);
    assert_int_equal(pwrite(fd, "end", 3, (1 << 20) - 3), 3);
    assert_int_equal(gw_channel_put(world->a, message, (struct gw_channel_fds){&fd, 1, true}), 0);
    world->there.room = 300 << 10;
    assert_int_equal(gw_channel_flush(world->a), GW_EAGAIN);
    assert_int_equal(ftruncate(fd, 1000), 0);
    world->there.room = 2 << 20;
    while ((rc = gw_channel_flush(world->a)) == GW_EAGAIN && world->there.room > 1 << 20)
        ;
    return rc;
}

/* A file that a client uploads may shrink during the upload. Uploaded content has a hash, so the
 * receiver notices; a value has no hash, so its connection ends. */
static void shrinking_blob_is_padded_and_shrinking_value_fails(void **state)
{
    const uint8_t hash[32] = {0};
    struct gw_message blob = {.type = GW_MESSAGE_blob, .blob.hash = {hash, sizeof hash}}, got;
    const struct gw_message inputs = {.type = GW_MESSAGE_inputs};
    struct world *world = world_new();
    int fds[GW_FRAME_FDS_MAX];
    uint8_t count;
    struct stat st;
    char end[3];
    (void)state;
    blob.blob.bytes = 1 << 20;
    assert_int_equal(send_shrinking(world, &blob, false), 0);
    assert_int_equal(gw_channel_get(world->b, true, &got, fds, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_int_equal(fstat(fds[0], &st), 0);
    assert_int_equal(st.st_size, 1 << 20);
    assert_int_equal(pread(fds[0], end, 3, (1 << 20) - 3), 3);
    assert_memory_equal(end, "\0\0\0", 3);
    close(fds[0]);
    world_free(world);

    world = world_new();
    assert_int_equal(send_shrinking(world, &inputs, false), GW_EIO);
    world_free(world);
}

/* A task may truncate its result at any time. Neither the process that sends the result nor the
 * connection, which others use, may end. */
static void shrinking_result_in_memory_is_padded(void **state)
{
    struct gw_message got;
    const struct gw_message inputs = {.type = GW_MESSAGE_inputs};
    struct world *world = world_new();
    int fds[GW_FRAME_FDS_MAX];
    uint8_t count;
    struct stat st;
    (void)state;
    assert_int_equal(send_shrinking(world, &inputs, true), 0);
    assert_int_equal(gw_channel_get(world->b, true, &got, fds, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_int_equal(fstat(fds[0], &st), 0);
    assert_int_equal(st.st_size, 1 << 20);
    close(fds[0]);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heartbeats_overtake_file_contents),
        cmocka_unit_test(heartbeats_never_split_a_frame),
        cmocka_unit_test(brisk_channel_queues_few_bytes_before_a_heartbeat),
        cmocka_unit_test(invalid_content_pieces_are_refused),
        cmocka_unit_test(shrinking_blob_is_padded_and_shrinking_value_fails),
        cmocka_unit_test(shrinking_result_in_memory_is_padded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
