/* Links over TLS on a socket with moods: it accepts or delivers nothing for no reason, or less than
 * requested, and is ready again at once. Everything that was sent arrives without another event
 * that could wake the loop, and a waiting link sleeps. send and recv of tls.c are wrapped
 * (CMakeLists.txt). */
#include "tests/unit/unit.h"

#include "graph/wire/frame.h"
#include "graph/wire/link.h"
#include "graph/wire/tls.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SEEDS = 40,
    MESSAGES = 400, /* in each direction */
    VALUE_EVERY = 50,
    HEARTBEAT_EVERY = 7,
    VALUE_BYTES = 600000, /* more than all windows on the way together */
    IDLE_TURNS_MAX = 200, /* loop turns without a moved byte */
};

/* -- The socket ----------------------------------------------------------------------------------
 */

static struct {
    uint64_t random;
    uint32_t refuses_of_8, shortens_of_8; /* of 8 calls */
    bool pauses;                          /* the receiver of a message pauses */
    uint64_t moved;
    size_t sends_max; /* bytes */
    bool garbles;     /* corrupts the last byte of each send */
} mood = {.sends_max = SIZE_MAX};

static uint32_t draw(uint32_t below)
{
    mood.random ^= mood.random << 13;
    mood.random ^= mood.random >> 7;
    mood.random ^= mood.random << 17;
    return (uint32_t)(mood.random >> 33) % below;
}

/* How many of `bytes` bytes are moved; 0: none now. */
static size_t some_of(size_t bytes)
{
    if (draw(8) < mood.refuses_of_8)
        return 0;
    return bytes > 1 && draw(8) < mood.shortens_of_8 ? 1 + draw((uint32_t)bytes - 1) : bytes;
}

ssize_t __real_send(int fd, const void *data, size_t bytes, int flags);
ssize_t __real_recv(int fd, void *data, size_t bytes, int flags);

ssize_t __wrap_send(int fd, const void *data, size_t bytes, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t bytes, int flags)
{
    size_t some = some_of(bytes);
    if (some > mood.sends_max)
        some = mood.sends_max;
    if (some == 0) {
        errno = EAGAIN;
        return -1;
    }
    static uint8_t garbage[4096];
    if (mood.garbles) {
        assert_true(some <= sizeof garbage);
        memcpy(garbage, data, some);
        garbage[some - 1] ^= 1;
        data = garbage;
    }
    ssize_t sent = __real_send(fd, data, some, flags);
    if (sent > 0) {
        mood.moved += (uint64_t)sent;
        mood.sends_max -= mood.sends_max == SIZE_MAX ? 0 : (size_t)sent;
    }
    return sent;
}

ssize_t __wrap_recv(int fd, void *data, size_t bytes, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t bytes, int flags)
{
    size_t some = some_of(bytes);
    if (some == 0) {
        errno = EAGAIN;
        return -1;
    }
    ssize_t got = __real_recv(fd, data, some, flags);
    mood.moved += got > 0 ? (uint64_t)got : 0;
    return got;
}

/* -- Two ends on a loop --------------------------------------------------------------------------
 */

static const struct gw_tls_key alice = {.identity = "alice", .secret = {1, 2, 3}};

static bool find_alice(const char *identity, uint8_t secret[GW_TLS_SECRET_BYTES], void *arg)
{
    (void)identity;
    (void)arg;
    memcpy(secret, alice.secret, GW_TLS_SECRET_BYTES);
    return true;
}

struct end {
    struct gw_link *link;
    uint64_t got, heartbeats, values;
    bool closed;
    int code;
};

struct world {
    uv_loop_t loop;
    struct end ends[2];
};

static void end_on_message(struct gw_link *link, const struct gw_message *message, const int *fds,
                           uint8_t fd_count, void *arg)
{
    struct end *end = arg;
    if (message->type == GW_MESSAGE_heartbeat) {
        end->heartbeats++;
    } else {
        assert_int_equal(message->forget.job, end->got++);
    }
    for (uint8_t i = 0; i < fd_count; i++, end->values++) {
        struct stat about;
        assert_int_equal(fstat(fds[i], &about), 0);
        assert_int_equal(about.st_size, VALUE_BYTES);
        close(fds[i]);
    }
    if (mood.pauses && draw(16) == 0)
        gw_link_pause(link); /* `run` resumes the link */
}

static void end_on_close(struct gw_link *link, const struct gw_error *error, void *arg)
{
    struct end *end = arg;
    (void)link;
    end->closed = true;
    end->code = error->code;
}

static void world_init(struct world *world)
{
    struct gw_transport *transports[2];
    int fds[2];
    *world = (struct world){0};
    assert_int_equal(uv_loop_init(&world->loop), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(gw_tls_connect(fds[0], &alice, &transports[0], NULL), 0);
    assert_int_equal(gw_tls_accept(fds[1], find_alice, NULL, &transports[1], NULL), 0);
    for (int i = 0; i < 2; i++) {
        struct end *end = &world->ends[i];
        const struct gw_link_callbacks callbacks = {end_on_message, end_on_close, end};
        assert_int_equal(gw_link_open_over(&world->loop, transports[i], &callbacks, &end->link), 0);
    }
}

static void world_deinit(struct world *world)
{
    mood.refuses_of_8 = mood.shortens_of_8 = 0;
    for (int i = 0; i < 2; i++)
        gw_link_close(world->ends[i].link);
    assert_int_equal(uv_run(&world->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&world->loop), 0);
}

static void say(struct gw_link *link, uint64_t number)
{
    struct gw_message message = {.type = GW_MESSAGE_forget, .forget.job = number};
    int fd = -1;
    if (number % VALUE_EVERY == 0) {
        fd = memfd_create("test", MFD_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, VALUE_BYTES), 0);
    }
    assert_int_equal(gw_link_send(link, &message, (struct gw_channel_fds){&fd, fd >= 0, true}), 0);
    if (number % HEARTBEAT_EVERY)
        return;
    message = (struct gw_message){.type = GW_MESSAGE_heartbeat};
    assert_int_equal(gw_link_send(link, &message, (struct gw_channel_fds){0}), 0);
}

static bool all_came(const struct world *world)
{
    for (int i = 0; i < 2; i++)
        if (world->ends[i].got < MESSAGES ||
            world->ends[i].heartbeats < (MESSAGES + HEARTBEAT_EVERY - 1) / HEARTBEAT_EVERY)
            return false;
    return true;
}

/* Turns of the loop until everything has arrived. Only the links work in it, so turns without a
 * byte are turns in which they wait for an event that never comes. */
static void run(struct world *world, uint64_t seed)
{
    uint64_t moved = mood.moved;
    for (uint32_t idle = 0; !all_came(world);) {
        (void)uv_run(&world->loop, UV_RUN_NOWAIT);
        for (int i = 0; i < 2; i++) {
            assert_false(world->ends[i].closed);
            gw_link_resume(world->ends[i].link); /* has no effect on a link that was not paused */
        }
        idle = mood.moved == moved ? idle + 1 : 0;
        moved = mood.moved;
        if (idle > IDLE_TURNS_MAX)
            fail_msg("seed %llu: stuck with %llu and %llu of %d messages come",
                     (unsigned long long)seed, (unsigned long long)world->ends[0].got,
                     (unsigned long long)world->ends[1].got, MESSAGES);
    }
}

static void all_messages_arrive_despite_partial_writes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world world;
        mood.random = seed * 0x9e3779b97f4a7c15;
        mood.refuses_of_8 = draw(6);
        mood.shortens_of_8 = draw(8);
        mood.pauses = true;
        world_init(&world);
        for (uint64_t number = 0; number < MESSAGES; number++)
            for (int i = 0; i < 2; i++)
                say(world.ends[i].link, number);
        run(&world, seed);
        for (int i = 0; i < 2; i++)
            assert_int_equal(world.ends[i].values, MESSAGES / VALUE_EVERY);
        world_deinit(&world);
    }
}

/* -- What waits, sleeps --------------------------------------------------------------------------
 */

/* Turns of the loop, in which the channel continues its handshake. */
static void turn(uv_loop_t *loop, struct gw_channel *channel)
{
    struct gw_message message;
    struct gw_error error;
    int fds[GW_FRAME_FDS_MAX], rc = gw_channel_flush(channel);
    uint8_t count;
    assert_true(rc == 0 || rc == GW_EAGAIN);
    assert_int_equal(gw_channel_get(channel, true, &message, fds, &count, &error), GW_EAGAIN);
    for (int i = 0; i < 4; i++)
        (void)uv_run(loop, UV_RUN_NOWAIT);
}

/* A channel that sends, and a link on a loop that receives; their handshake is complete. */
struct speech {
    uv_loop_t loop;
    struct gw_channel *from;
    struct end to;
};

static void speech_init(struct speech *speech)
{
    struct gw_transport *transports[2];
    const struct gw_link_callbacks callbacks = {end_on_message, end_on_close, &speech->to};
    int fds[2];
    *speech = (struct speech){0};
    mood.random = 1;
    mood.refuses_of_8 = mood.shortens_of_8 = mood.pauses = 0;
    assert_int_equal(uv_loop_init(&speech->loop), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(gw_tls_connect(fds[0], &alice, &transports[0], NULL), 0);
    assert_int_equal(gw_tls_accept(fds[1], find_alice, NULL, &transports[1], NULL), 0);
    assert_int_equal(gw_channel_new_over(transports[0], &speech->from), 0);
    assert_int_equal(gw_link_open_over(&speech->loop, transports[1], &callbacks, &speech->to.link),
                     0);
    for (int i = 0; i < 4; i++)
        turn(&speech->loop, speech->from);
    assert_non_null(gw_tls_identity(transports[1]));
}

static void speech_deinit(struct speech *speech)
{
    gw_channel_free(speech->from);
    assert_int_equal(uv_run(&speech->loop, UV_RUN_DEFAULT), 0);
    assert_true(speech->to.closed);
    assert_int_equal(uv_loop_close(&speech->loop), 0);
}

static void put(struct speech *speech, uint64_t number)
{
    const struct gw_message message = {.type = GW_MESSAGE_forget, .forget.job = number};
    assert_int_equal(gw_channel_put(speech->from, &message, (struct gw_channel_fds){0}), 0);
}

/* Two messages arrive a byte at a time; between the bytes, the loop must sleep. */
static void loop_sleeps_in_the_middle_of_a_tls_record(void **state)
{
    struct speech speech;
    (void)state;
    speech_init(&speech);
    for (uint64_t number = 0; number < 2; number++) {
        put(&speech, number);
        for (int bytes = 0; speech.to.got == number; bytes++) {
            assert_true(bytes < 4096);
            mood.sends_max = 1;
            turn(&speech.loop, speech.from);
            assert_int_equal(uv_backend_timeout(&speech.loop), -1);
        }
    }
    mood.sends_max = SIZE_MAX;
    speech_deinit(&speech);
}

/* Corrupt bytes arrive together with a message and are detected before another message arrives. */
static void corruption_behind_a_message_is_detected_at_once(void **state)
{
    struct speech speech;
    (void)state;
    speech_init(&speech);
    put(&speech, 0);
    assert_int_equal(gw_channel_flush(speech.from), 0);
    put(&speech, 1);
    mood.garbles = true;
    assert_int_equal(gw_channel_flush(speech.from), 0);
    mood.garbles = false;
    for (int i = 0; i < IDLE_TURNS_MAX && !speech.to.closed; i++)
        (void)uv_run(&speech.loop, UV_RUN_NOWAIT);
    assert_int_equal(speech.to.got, 1);
    assert_true(speech.to.closed);
    assert_int_equal(speech.to.code, GW_EIO); /* no peer has sent it: the connection is broken */
    speech_deinit(&speech);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_messages_arrive_despite_partial_writes),
        cmocka_unit_test(loop_sleeps_in_the_middle_of_a_tls_record),
        cmocka_unit_test(corruption_behind_a_message_is_detected_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
