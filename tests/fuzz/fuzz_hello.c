/* What comes to a scheduler's doors, in front of a whole server: bytes at the unix socket, bytes at
 * the TCP port (records of a handshake), and frames behind a handshake that was made by a token of
 * each role, first of all hellos of all versions, roles, and connections that they say to replace.
 * The input's first byte chooses the door, its second the role.
 *
 * What holds beside "no report of a sanitizer" and the core's own invariants: who has said all that
 * it has to say is closed, and others are let in meanwhile. */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/fill.h"

#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/wire/channel.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"
#include "graph/wire/tls.h"
#include "graph/wire/token_file.h"
#include "scheduler/net/server.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DOOR_UNIX, DOOR_RECORDS, DOOR_TLS, DOORS = 4 }; /* TLS twice: most of it is behind that */
enum { ROLES = 3, TURNS_MAX = 1000000, EVERY = 50 };

static struct {
    uv_loop_t loop;
    struct gw_server *server;
    char dir[64], tokens[80], socket[96];
    struct gw_tls_key keys[ROLES];
    bool open, ended;
    uint64_t runs;
} world;

/* -- The server ----------------------------------------------------------------------------------
 */

static void server_on_worker(uint32_t workers, void *arg)
{
    (void)workers;
    (void)arg;
}

static void server_on_exit(void *arg) /* an input may say so */
{
    (void)arg;
    world.ended = true;
}

static void open_server(void)
{
    const struct gw_server_options options = {.dir = world.dir,
                                              .listen = "127.0.0.1",
                                              .tokens = world.tokens,
                                              .on_worker = server_on_worker,
                                              .on_exit = server_on_exit};
    struct gw_error error;
    int rc = gw_server_open(&world.loop, &options, &world.server, &error);
    if (rc < 0)
        gw_log_error("%s", error.text);
    assert(rc == 0);
    world.ended = false;
}

static void close_server(void)
{
    gw_server_close(world.server, NULL, false);
    (void)uv_run(&world.loop, UV_RUN_DEFAULT);
}

static void world_close(void)
{
    struct gw_error error;
    close_server();
    int rc = uv_loop_close(&world.loop);
    assert(rc == 0);
    rc = gw_dir_remove(world.dir, &error);
    assert(rc == 0);
}

static void world_open(void)
{
    static const enum gw_token_role roles[ROLES] = {GW_TOKEN_USER, GW_TOKEN_WORKER, GW_TOKEN_ADMIN};
    const char *parent = getenv("TMPDIR");
    struct gw_error error;
    gw_log_init("fuzz", GW_LOG_ERROR);
    (void)snprintf(world.dir, sizeof world.dir, "%.40s/gw-fuzz-XXXXXX", parent ? parent : "/tmp");
    bool made = mkdtemp(world.dir) != NULL;
    assert(made);
    (void)snprintf(world.tokens, sizeof world.tokens, "%s/tokens", world.dir);
    (void)snprintf(world.socket, sizeof world.socket, "%s/scheduler.sock", world.dir);
    for (int i = 0; i < ROLES; i++) {
        struct gw_token token;
        int rc = gw_token_make("alice", roles[i], 1, &token, &error);
        assert(rc == 0);
        rc = gw_token_file_add(world.tokens, &token, &error);
        assert(rc == 0);
        (void)snprintf(world.keys[i].identity, sizeof world.keys[i].identity, "%s", token.id);
        memcpy(world.keys[i].secret, token.secret, sizeof world.keys[i].secret);
    }
    int rc = uv_loop_init(&world.loop);
    assert(rc == 0);
    open_server();
    world.open = true;
    (void)atexit(world_close);
}

/* -- Who connects --------------------------------------------------------------------------------
 */

static int connect_to(const char *endpoint)
{
    struct gw_error error;
    int fd, rc = gw_endpoint_connect(endpoint, &fd, &error);
    assert(rc == 0);
    return fd;
}

static void turn(int *turns)
{
    (void)uv_run(&world.loop, UV_RUN_NOWAIT);
    assert(++*turns < TURNS_MAX); /* a connection that does not end */
}

/* Says it all, hears whatever is said, until the other side closes. */
static void say_raw(int fd, const uint8_t *data, size_t size)
{
    uint8_t heard[4096];
    int turns = 0;
    while (size) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            break;
        if (sent > 0) {
            data += sent;
            size -= (size_t)sent;
        }
        turn(&turns);
    }
    (void)shutdown(fd, SHUT_WR);
    for (;;) {
        ssize_t got = recv(fd, heard, sizeof heard, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            break;
        turn(&turns);
    }
    close(fd);
}

static void say_by_tls(const struct gw_tls_key *key, const uint8_t *data, size_t size)
{
    struct gw_transport *transport;
    uint8_t heard[4096];
    bool said = false;
    int turns = 0;
    int rc = gw_tls_connect(connect_to(gw_server_address(world.server)), key, &transport, NULL);
    assert(rc == 0);
    do {
        size_t count = 0;
        if (size && (rc = transport->write(transport, data, size, &count, NULL)) == 0) {
            data += count;
            size -= count;
        }
        int flushed = transport->flush(transport, NULL);
        if (!said && !size && flushed == 0) {
            (void)shutdown(transport->fd, SHUT_WR);
            said = true;
        }
        turn(&turns);
        rc = transport->read(transport, heard, sizeof heard, &count, NULL);
    } while (rc == 0 || rc == GW_EAGAIN);
    transport->free(transport);
}

/* A client that does it right is let in. */
static void check_welcome(void)
{
    struct gw_transport *transport;
    struct gw_channel *channel;
    struct gw_message message = {.type = GW_MESSAGE_hello};
    int fds[GW_FRAME_FDS_MAX], turns = 0;
    uint8_t count;
    message.hello = (struct gw_msg_hello){
        .protocol = GW_PROTOCOL_LINK, .role = GW_ROLE_CLIENT, .version = "0", .name = "right"};
    int rc = gw_tls_connect(connect_to(gw_server_address(world.server)), &world.keys[0], &transport,
                            NULL);
    assert(rc == 0);
    rc = gw_channel_new_over(transport, &channel);
    assert(rc == 0);
    rc = gw_channel_put(channel, &message, (struct gw_channel_fds){0});
    assert(rc == 0);
    do {
        (void)gw_channel_flush(channel);
        turn(&turns);
        rc = gw_channel_get(channel, true, &message, fds, &count, NULL);
    } while (rc == GW_EAGAIN || (rc == 0 && message.type == GW_MESSAGE_heartbeat)); /* may pass */
    assert(rc == 0 && message.type == GW_MESSAGE_welcome);
    gw_channel_free(channel);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    if (!world.open)
        world_open();
    const int door = data[0] % DOORS;
    if (door == DOOR_UNIX)
        say_raw(connect_to(world.socket), data + 2, size - 2);
    else if (door == DOOR_RECORDS)
        say_raw(connect_to(gw_server_address(world.server)), data + 2, size - 2);
    else
        say_by_tls(&world.keys[data[1] % ROLES], data + 2, size - 2);
    if (world.ended) {
        close_server();
        open_server();
    }
    if (++world.runs % EVERY == 0)
        check_welcome();
    return 0;
}

/* -- Seeds -- */

/* What comes first over TLS, by a key that nobody has. */
static size_t seed_records(uint8_t *data, size_t room)
{
    const struct gw_tls_key key = {.identity = "0123456789ab"};
    struct gw_transport *transport;
    int pair[2];
    int rc = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair);
    assert(rc == 0);
    rc = gw_tls_connect(pair[0], &key, &transport, NULL);
    assert(rc == 0);
    (void)transport->flush(transport, NULL);
    ssize_t got = recv(pair[1], data, room, 0);
    assert(got > 0);
    transport->free(transport);
    close(pair[1]);
    return (size_t)got;
}

/* A hello, and what may follow it. */
static size_t seed_frames(uint32_t i, uint8_t *data, size_t room)
{
    static const struct gw_msg_hello hellos[] = {
        {.protocol = GW_PROTOCOL_LINK, .role = GW_ROLE_CLIENT},
        {.protocol = GW_PROTOCOL_LINK, .role = GW_ROLE_WORKER},
        {.protocol = GW_PROTOCOL_LINK - 1, .role = GW_ROLE_CLIENT},
        {.protocol = GW_PROTOCOL_LINK, .role = GW_ROLE_TASK, .attempt = 1},
        {.protocol = GW_PROTOCOL_LINK, .role = GW_ROLE_WORKER, .reconnects = 1, .taken = 3},
        {.protocol = GW_PROTOCOL_LINK + 1, .role = GW_ROLE_WORKER, .reconnects = 1},
        {.protocol = GW_PROTOCOL_LINK, .role = GW_ROLE_PEER},
    };
    static const uint32_t followers[] = {GW_MESSAGE_registration, GW_MESSAGE_query,
                                         GW_MESSAGE_heartbeat, GW_MESSAGE_hello};
    struct gw_buffer buffer = {0};
    struct gw_message hello = {.type = GW_MESSAGE_hello};
    hello.hello = hellos[i % (sizeof hellos / sizeof *hellos)];
    hello.hello.version = "0.1.0";
    hello.hello.name = "somebody";
    if (hello.hello.reconnects)
        hello.hello.secret = gw_fill_hash();
    struct gw_message next = gw_fill(followers[i % (sizeof followers / sizeof *followers)]);
    int rc = gw_message_encode(&hello, 0, &buffer);
    assert(rc == 0);
    rc = gw_message_encode(&next, 0, &buffer);
    assert(rc == 0 && buffer.size <= room);
    memcpy(data, buffer.data, buffer.size);
    size_t size = buffer.size;
    gw_buffer_deinit(&buffer);
    return size;
}

size_t gw_fuzz_seed(uint32_t i, uint8_t *data, size_t room)
{
    enum { SEEDS = 4 * 7 * DOORS };
    if (i >= SEEDS)
        return 0;
    data[0] = (uint8_t)(i % DOORS);
    data[1] = (uint8_t)(i / DOORS % ROLES);
    return 2 + (data[0] == DOOR_RECORDS ? seed_records(data + 2, room - 2)
                                        : seed_frames(i / DOORS, data + 2, room - 2));
}
