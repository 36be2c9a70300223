/* See supervisor_harness.h. Nothing sleeps: each wait is a poll on sockets, fifos and pidfds. */
#include "tests/unit/worker/supervisor/supervisor_harness.h"

#include "tests/unit/unit.h"

#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/wire/codec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 30000 };

void harness_open(struct harness *harness)
{
    int fds[2];
    *harness = (struct harness){.dir = "/tmp/gangway-test-XXXXXX"};
    assert_non_null(mkdtemp(harness->dir));
    char path[96];
    snprintf(path, sizeof path, "%s/pids", harness->dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    harness->pids = open(path, O_RDWR | O_CLOEXEC);
    assert_true(harness->pids >= 0);

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    fflush(NULL);
    harness->supervisor = fork();
    assert_true(harness->supervisor >= 0);
    if (harness->supervisor == 0) {
        signal(SIGPIPE, SIG_IGN); /* must not be inherited by started processes */
        if (fds[1] == 3)
            fcntl(3, F_SETFD, 0);
        else
            dup2(fds[1], 3);
        execl("/proc/self/exe", "gangway", "supervisor", (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    assert_int_equal(gw_channel_new(fds[0], &harness->channel), 0);
}

void harness_close(struct harness *harness)
{
    int status;
    gw_channel_free(harness->channel);
    assert_int_equal(waitpid(harness->supervisor, &status, 0), harness->supervisor);
    assert_true(WIFEXITED(status) || WTERMSIG(status) == SIGKILL);
    if (WIFEXITED(status))
        assert_int_equal(WEXITSTATUS(status), 0);
    close(harness->pids);
    gw_array_deinit(&harness->events);
    assert_int_equal(gw_dir_remove(harness->dir, NULL), 0);
}

static struct gw_buffer encode_list(const char *const *items)
{
    struct gw_buffer buffer = {0};
    struct gw_value *list = gw_list();
    for (; items && *items; items++)
        assert_int_equal(gw_list_push(list, gw_str(*items)), 0);
    assert_int_equal(gw_codec_encode(list, NULL, &buffer), 0);
    gw_value_unref(list);
    return buffer;
}

void harness_spawn(struct harness *harness, const struct harness_spawn *spawn)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    struct gw_buffer argv_bytes = encode_list(spawn->argv);
    struct gw_buffer env_bytes = encode_list(spawn->env ? spawn->env : env);
    struct gw_buffer epilog_bytes = {0};
    if (spawn->epilog)
        epilog_bytes = encode_list(spawn->epilog);
    const struct gw_message message = {
        .type = GW_MESSAGE_spawn,
        .spawn = {.process = spawn->process,
                  .path = spawn->path ? spawn->path : spawn->argv[0],
                  .argv = {argv_bytes.data, (uint32_t)argv_bytes.size},
                  .env = {env_bytes.data, (uint32_t)env_bytes.size},
                  .cpus = spawn->cpus,
                  .cwd = spawn->cwd ? spawn->cwd : harness->dir,
                  .out = spawn->out,
                  .err = spawn->err,
                  .output_bytes_max = spawn->output_bytes_max,
                  .runner = spawn->runner_fd != 0,
                  .in = spawn->in_fd != 0,
                  .held = spawn->held,
                  .behind = spawn->behind,
                  .epilog = {epilog_bytes.data, (uint32_t)epilog_bytes.size}}};
    const int *fd = spawn->in_fd ? &spawn->in_fd : &spawn->runner_fd;
    const struct gw_channel_fds fds = {.fds = fd, .count = *fd != 0};
    assert_int_equal(gw_channel_put(harness->channel, &message, fds), 0);
    if (!spawn->more)
        assert_int_equal(gw_channel_flush(harness->channel), 0);
    gw_buffer_deinit(&argv_bytes);
    gw_buffer_deinit(&env_bytes);
    gw_buffer_deinit(&epilog_bytes);
}

void harness_read_to(struct harness *harness, uint64_t process, uint32_t stream, uint64_t offset)
{
    const struct gw_message message = {.type = GW_MESSAGE_output_read,
                                       .output_read = {process, stream, offset}};
    assert_int_equal(gw_channel_put(harness->channel, &message, (struct gw_channel_fds){0}), 0);
    assert_int_equal(gw_channel_flush(harness->channel), 0);
}

void harness_reap(struct harness *harness, uint64_t process, uint64_t grace_ns)
{
    const struct gw_message message = {.type = GW_MESSAGE_reap,
                                       .reap = {.process = process, .grace_ns = grace_ns}};
    assert_int_equal(gw_channel_put(harness->channel, &message, (struct gw_channel_fds){0}), 0);
    assert_int_equal(gw_channel_flush(harness->channel), 0);
}

static void retain(struct harness *harness, const struct gw_message *message)
{
    struct harness_event event = {.type = message->type};
    switch (message->type) {
    case GW_MESSAGE_spawned:
        event.process = message->spawned.process;
        event.pid = message->spawned.pid;
        event.code = message->spawned.code;
        snprintf(event.text, sizeof event.text, "%s", message->spawned.text);
        break;
    case GW_MESSAGE_exited:
        event.process = message->exited.process;
        event.exit_code = message->exited.exit_code;
        event.signal = message->exited.signal;
        event.oom = message->exited.oom;
        event.unasked = message->exited.unasked;
        break;
    case GW_MESSAGE_reaped:
        event.process = message->reaped.process;
        break;
    default:
        fail_msg("the supervisor said %s", gw_message_name(message->type));
    }
    assert_int_equal(gw_array_push(&harness->events, event), 0);
}

static void take(struct harness *harness, bool wait)
{
    struct gw_message message;
    struct gw_error error = {0};
    int fds[64];
    uint8_t fd_count = 0;
    struct pollfd fd = {.fd = gw_channel_fd(harness->channel), .events = POLLIN};
    int rc = gw_channel_get(harness->channel, false, &message, fds, &fd_count, &error);
    if (rc == GW_EAGAIN && poll(&fd, 1, wait ? PATIENCE_MS : 0) > 0)
        rc = gw_channel_get(harness->channel, true, &message, fds, &fd_count, &error);
    if (rc == GW_EAGAIN && !wait)
        return;
    if (rc < 0)
        fail_msg("nothing from the supervisor: %s %s", gw_error_name(rc), error.text);
    retain(harness, &message);
}

static size_t find(const struct harness *harness, uint32_t type, uint64_t process)
{
    size_t i = 0;
    while (i < harness->events.count &&
           (harness->events.items[i].type != type || harness->events.items[i].process != process))
        i++;
    return i;
}

struct harness_event harness_wait(struct harness *harness, uint32_t type, uint64_t process)
{
    size_t i;
    while ((i = find(harness, type, process)) == harness->events.count)
        take(harness, true);
    struct harness_event event = harness->events.items[i];
    for (; i + 1 < harness->events.count; i++)
        harness->events.items[i] = harness->events.items[i + 1];
    harness->events.count--;
    return event;
}

bool harness_has(struct harness *harness, uint32_t type, uint64_t process)
{
    size_t before;
    do {
        before = harness->events.count;
        take(harness, false);
    } while (harness->events.count != before);
    return find(harness, type, process) < harness->events.count;
}

pid_t harness_pid(struct harness *harness)
{
    char line[32];
    size_t length = 0;
    struct pollfd fd = {.fd = harness->pids, .events = POLLIN};
    while (length < sizeof line - 1) {
        if (poll(&fd, 1, PATIENCE_MS) <= 0 || read(harness->pids, &line[length], 1) != 1)
            fail_msg("no pid came");
        if (line[length] == '\n')
            break;
        length++;
    }
    line[length] = '\0';
    pid_t pid = (pid_t)strtol(line, NULL, 10);
    assert_true(pid > 1);
    return pid;
}

bool harness_is_gone(pid_t pid)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    ssize_t bytes = read(fd, text, sizeof text - 1);
    close(fd);
    if (bytes <= 0)
        return true;
    text[bytes] = '\0';
    const char *end = strrchr(text, ')');
    return end && (end[2] == 'Z' || end[2] == 'X');
}

void harness_wait_gone(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    if (fd >= 0 && poll(&wait, 1, PATIENCE_MS) != 1)
        fail_msg("process %d does not end", (int)pid);
    if (fd >= 0)
        close(fd);
}

const char *harness_read(const char *path)
{
    static char text[65536];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    text[0] = '\0';
    if (fd < 0)
        return text;
    ssize_t bytes = read(fd, text, sizeof text - 1);
    close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    return text;
}
