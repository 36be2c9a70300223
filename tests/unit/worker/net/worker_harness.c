/* A real worker and a simulated scheduler. All waits end by themselves: the socket has a timeout.
 */
#include "tests/unit/worker/net/worker_harness.h"

#include "graph/base/dir.h"
#include "graph/wire/frame.h"
#include "graph/wire/manifest.h"
#include "worker/net/worker.h"
#include "worker/supervisor/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <msgpack.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_S = 20, TERM = 3, PEER = 11 };

void worker_harness_main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "supervisor") == 0)
        exit(gw_supervisor_main(argc - 1, argv + 1));
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        exit(gw_worker_main(argc - 1, argv + 1));
}

/* -- Start and end -------------------------------------------------------------------------------
 */

static void listen_at(struct harness *harness)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/scheduler.sock", harness->dir);
    harness->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(harness->listen_fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(harness->listen_fd, 4), 0);
    struct timeval limit = {.tv_sec = WAIT_S};
    setsockopt(harness->listen_fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

static void start_worker(struct harness *harness, bool private_cluster)
{
    harness->worker = fork();
    assert_true(harness->worker >= 0);
    if (harness->worker)
        return;
    setenv("GANGWAY_LOG", "error", 0);
    execl("/proc/self/exe", "gangway", "worker", "--dir", harness->dir, "--slots", "2",
          private_cluster ? "--private" : NULL, NULL);
    _exit(127);
}

static void describe_program(struct harness *harness)
{
    struct gw_manifest_file file = {.name = "tester", .mode = 0755};
    struct stat info;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fstat(fd, &info), 0);
    file.bytes = (uint64_t)info.st_size;
    assert_int_equal(gw_hash_file(fd, file.hash, NULL), 0);
    close(fd);
    assert_int_equal(gw_manifest_encode(&(struct gw_manifest){&file, 1}, &harness->manifest), 0);
    gw_hash_bytes(harness->manifest.data, harness->manifest.size, harness->program);
}

void harness_open(struct harness *harness, bool private_cluster)
{
    *harness = (struct harness){.fd = -1};
    strcpy(harness->dir, "/tmp/gw-worker-XXXXXX");
    assert_non_null(mkdtemp(harness->dir));
    listen_at(harness);
    start_worker(harness, private_cluster);
    int fd = accept4(harness->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        fail_msg("the worker does not connect: %s", strerror(errno));
    struct timeval limit = {.tv_sec = WAIT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(gw_channel_new(fd, &harness->channel), 0);
    assert_int_equal(harness_wait(harness, GW_MESSAGE_hello)->hello.role, GW_ROLE_WORKER);
    harness_send(harness, (struct gw_message){.type = GW_MESSAGE_welcome, .welcome = {1, "0", "/"}},
                 -1);
    harness->registration = harness_wait(harness, GW_MESSAGE_registration)->registration;
    describe_program(harness);
}

void harness_wait_gone(struct harness *harness)
{
    int status = 0;
    alarm(WAIT_S); /* ends the test if the worker does not end */
    assert_int_equal(waitpid(harness->worker, &status, 0), harness->worker);
    alarm(0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

void harness_close(struct harness *harness)
{
    kill(harness->worker, SIGTERM);
    gw_channel_free(harness->channel); /* it does not wait for a missing scheduler */
    harness_wait_gone(harness);
    char sockets[128];
    snprintf(sockets, sizeof sockets, "%s/worker-%d.sock", harness->dir, (int)harness->worker);
    assert_int_equal(access(sockets, F_OK), -1);
    if (harness->fd >= 0)
        close(harness->fd);
    close(harness->listen_fd);
    gw_buffer_deinit(&harness->manifest);
    assert_int_equal(gw_dir_remove(harness->dir, NULL), 0);
}

/* -- Speaking ------------------------------------------------------------------------------------
 */

void harness_send(struct harness *harness, struct gw_message message, int fd)
{
    message.term = TERM;
    message.peer = PEER;
    message.sequence = ++harness->sequence;
    assert_int_equal(
        gw_channel_put(harness->channel, &message, (struct gw_channel_fds){&fd, fd >= 0, false}),
        0);
    assert_int_equal(gw_channel_flush(harness->channel), 0);
}

static void answer(struct harness *harness)
{
    const struct gw_message *message = &harness->message;
    if (message->type == GW_MESSAGE_heartbeat) {
        struct gw_message beat = {.type = GW_MESSAGE_heartbeat};
        beat.heartbeat.number = beat.heartbeat.echo = message->heartbeat.number;
        harness_send(harness, beat, -1);
    } else if (message->type == GW_MESSAGE_blob_want) {
        struct gw_message blob = {.type = GW_MESSAGE_blob};
        uint8_t hash[GW_HASH_BYTES];
        assert_int_equal(message->blob_want.hashes.size, GW_HASH_BYTES);
        memcpy(hash, message->blob_want.hashes.data, sizeof hash);
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        blob.blob.hash = (struct gw_bin){hash, sizeof hash};
        harness_send(harness, blob, fd);
        close(fd);
    }
}

/* A failure that is alone in its message. */
static void as_ended(struct gw_message *message)
{
    const struct gw_msg_failures failures = message->failures;
    if (message->type != GW_MESSAGE_failures)
        return;
    assert_int_equal(failures.attempt.count, 1);
    message->type = GW_MESSAGE_ended;
    message->ended = (struct gw_msg_ended){.attempt = gw_col64_at(failures.attempt, 0),
                                           .rank = GW_RANK_NONE,
                                           .outcome = GW_OUTCOME_FAILED,
                                           .code = failures.code,
                                           .executing = 1,
                                           .text = failures.text,
                                           .stderr_tail = failures.stderr_tail};
}

const struct gw_message *harness_wait(struct harness *harness, uint32_t type)
{
    for (;;) {
        int fds[GW_FRAME_FDS_MAX];
        uint8_t count = 0;
        struct gw_error error;
        if (harness->fd >= 0)
            close(harness->fd);
        harness->fd = -1;
        int rc = gw_channel_get(harness->channel, true, &harness->message, fds, &count, &error);
        if (rc < 0)
            fail_msg("waiting for %s: %s", gw_message_name(type), gw_error_text(rc));
        assert_true(count <= 1);
        if (harness->message.type != GW_MESSAGE_hello) {
            assert_int_equal(harness->message.term, TERM);
            assert_int_equal(harness->message.peer, PEER);
        }
        if (harness->message.type != GW_MESSAGE_hello &&
            harness->message.type != GW_MESSAGE_heartbeat) { /* these have none */
            assert_true(harness->message.sequence > harness->seen);
            harness->seen = harness->message.sequence;
        }
        harness->fd = count ? fds[0] : -1;
        if (type == GW_MESSAGE_ended)
            as_ended(&harness->message);
        if (harness->message.type == type)
            return &harness->message;
        answer(harness);
        if (harness->message.type == GW_MESSAGE_ended)
            fail_msg("attempt %llu ended: %s\n%s",
                     (unsigned long long)harness->message.ended.attempt,
                     harness->message.ended.text, harness->message.ended.stderr_tail);
    }
}

/* -- Work ----------------------------------------------------------------------------------------
 */

static struct gw_bin pack_list(msgpack_sbuffer *buffer, const char *const *items, uint32_t count)
{
    msgpack_packer packer;
    msgpack_sbuffer_init(buffer);
    msgpack_packer_init(&packer, buffer, msgpack_sbuffer_write);
    msgpack_pack_array(&packer, count);
    for (uint32_t i = 0; i < count; i++)
        msgpack_pack_str_with_body(&packer, items[i], strlen(items[i]));
    return (struct gw_bin){buffer->data, (uint32_t)buffer->size};
}

static void send_spec(struct harness *harness, struct gw_msg_spec spec)
{
    msgpack_sbuffer env;
    char asan[256];
    snprintf(asan, sizeof asan, "ASAN_OPTIONS=%s", getenv("ASAN_OPTIONS") ?: "");
    const char *const lines[] = {"PATH=/usr/bin:/bin", "GANGWAY_TEST=yes", asan};
    spec.key = 1;
    spec.slots = 1;
    spec.env = pack_list(&env, lines, 3);
    spec.cwd = "/";
    spec.grace_ns = 100000000;
    spec.output_bytes_max = 1 << 20;
    harness_send(harness, (struct gw_message){.type = GW_MESSAGE_spec, .spec = spec}, -1);
    msgpack_sbuffer_destroy(&env);
}

void harness_function(struct harness *harness, uint32_t number, const char *function)
{
    const struct gw_bin hash = {harness->program, GW_HASH_BYTES};
    const struct gw_bin manifest = {harness->manifest.data, (uint32_t)harness->manifest.size};
    harness_send(harness,
                 (struct gw_message){.type = GW_MESSAGE_program, .program = {hash, manifest}}, -1);
    send_spec(harness, (struct gw_msg_spec){.number = number,
                                            .kind = GW_SPEC_FUNCTION,
                                            .function = function,
                                            .program = hash});
}

void harness_script(struct harness *harness, uint32_t number, const char *script)
{
    msgpack_sbuffer argv;
    const char *const items[] = {"sh", "-c", script};
    struct gw_msg_spec spec = {.number = number, .kind = GW_SPEC_COMMAND};
    spec.argv = pack_list(&argv, items, 3);
    send_spec(harness, spec);
    msgpack_sbuffer_destroy(&argv);
}

/* The columns of some tasks without dependencies. */
static void send_rows(struct harness *harness, uint32_t spec, uint64_t attempt, uint32_t count,
                      uint32_t rank)
{
    static uint64_t job[HARNESS_TASKS_MAX], attempts[HARNESS_TASKS_MAX];
    static uint32_t index[HARNESS_TASKS_MAX], specs[HARNESS_TASKS_MAX], zero[HARNESS_TASKS_MAX];
    static uint32_t ranks[HARNESS_TASKS_MAX], size[HARNESS_TASKS_MAX];
    static uint8_t args[HARNESS_TASKS_MAX][6];
    assert_true(count <= HARNESS_TASKS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        job[i] = 1;
        attempts[i] = attempt + i;
        index[i] = (uint32_t)(attempt + i);
        specs[i] = spec;
        ranks[i] = rank;
        size[i] = 6; /* a list of one uint32 */
        memcpy(args[i], (uint8_t[]){0x91, 0xce, 0, 0, (uint8_t)(i >> 8), (uint8_t)i}, 6);
    }
    struct gw_message message = {.type = GW_MESSAGE_assign};
    message.assign = (struct gw_msg_assign){
        .job = {job, count},
        .index = {index, count},
        .spec = {specs, count},
        .attempt = {attempts, count},
        .try_number = {zero, count},
        .rank = {ranks, count},
        .gpu_count = {zero, count},
        .args_size = {size, count},
        .args = {args, count * 6},
        .dep_count = {zero, count},
    };
    harness_send(harness, message, -1);
}

void harness_assign(struct harness *harness, uint32_t spec, uint64_t attempt, uint32_t count)
{
    send_rows(harness, spec, attempt, count, GW_RANK_NONE);
}

void harness_rank(struct harness *harness, uint32_t spec, uint64_t attempt, uint32_t rank)
{
    send_rows(harness, spec, attempt, 1, rank);
}

const char *harness_read_log(struct harness *harness, uint64_t attempt, uint32_t rank,
                             uint32_t stream)
{
    static char text[65536];
    uint64_t offset = 0;
    for (bool end = false; !end;) {
        struct gw_message ask = {.type = GW_MESSAGE_log_read};
        ask.log_read = (struct gw_msg_log_read){.request = 5,
                                                .job = 1,
                                                .index = (uint32_t)attempt,
                                                .attempt = attempt,
                                                .rank = rank,
                                                .stream = stream,
                                                .offset = offset,
                                                .follow = 1};
        harness_send(harness, ask, -1);
        const struct gw_msg_log_data *data = &harness_wait(harness, GW_MESSAGE_log_data)->log_data;
        assert_int_equal(data->code, 0);
        assert_int_equal(data->offset, offset);
        assert_true(offset + data->data.size < sizeof text);
        memcpy(text + offset, data->data.data, data->data.size);
        offset += data->data.size;
        end = data->end;
    }
    text[offset] = '\0';
    return text;
}
