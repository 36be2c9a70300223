/* runner_bench [COUNT]: runs COUNT empty tasks through one real runner, with distinct arguments, in
 * batches like those of a worker. Every result is read. Prints nanoseconds per task. */
#include "graph/base/clock.h"
#include "graph/wire/channel.h"
#include "graph/wire/enums.h"

#include <fcntl.h>
#include <gangway/task.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 256, IN_FLIGHT = 2048, ARGS_BYTES = 6 };

static int echo(struct gw_task *task)
{
    int64_t n;
    int rc = gw_task_arg_i64(task, 0, &n);
    return rc < 0 ? rc : gw_task_return(task, gw_i64(n));
}
GW_TASK(echo);

static void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "runner_bench: %s\n", what);
        exit(1);
    }
}

static pid_t start_runner(struct gw_channel **channel)
{
    int fds[2];
    char fd_text[16];
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0, "socketpair");
    pid_t pid = fork();
    if (pid == 0) {
        FILE *out = tmpfile();
        must(out && dup2(fileno(out), 1) == 1 && dup2(fileno(out), 2) == 2, "capture files");
        snprintf(fd_text, sizeof fd_text, "%d", fds[1]);
        setenv("GANGWAY_RUNNER_FD", fd_text, 1);
        setenv("GANGWAY_LOG_DIR", "/nowhere", 1); /* so that the runner handles output */
        fcntl(fds[1], F_SETFD, 0);
        execl("/proc/self/exe", "runner", (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    must(gw_channel_new(fds[0], channel) == 0, "channel");
    return pid;
}

static void put_batch(struct gw_channel *channel, uint32_t first)
{
    static uint64_t job[BATCH], attempt[BATCH];
    static uint32_t index[BATCH], zero[BATCH], rank[BATCH], size[BATCH];
    static uint8_t args[BATCH * ARGS_BYTES];
    for (uint32_t i = 0; i < BATCH; i++) {
        const uint8_t packed[ARGS_BYTES] = {
            0x91, 0xce, 0, 0, (uint8_t)((first + i) >> 8), (uint8_t)(first + i)};
        memcpy(args + (size_t)i * ARGS_BYTES, packed, sizeof packed);
        job[i] = 1;
        attempt[i] = index[i] = first + i;
        rank[i] = GW_RANK_NONE;
        size[i] = ARGS_BYTES;
    }
    const struct gw_message message = {.type = GW_MESSAGE_assign,
                                       .assign = {.job = {job, BATCH},
                                                  .index = {index, BATCH},
                                                  .spec = {zero, BATCH},
                                                  .attempt = {attempt, BATCH},
                                                  .try_number = {zero, BATCH},
                                                  .rank = {rank, BATCH},
                                                  .gpu_count = {zero, BATCH},
                                                  .args_size = {size, BATCH},
                                                  .args = {args, sizeof args},
                                                  .dep_count = {zero, BATCH}}};
    must(gw_channel_put(channel, &message, (struct gw_channel_fds){0}) == 0, "put");
}

static uint32_t take(struct gw_channel *channel, uint32_t expected)
{
    struct gw_message message;
    int fds[64];
    uint8_t fd_count;
    must(gw_channel_get(channel, true, &message, fds, &fd_count, NULL) == 0, "get");
    if (message.type != GW_MESSAGE_finished)
        return 0;
    for (uint32_t i = 0; i < message.finished.attempt.count; i++)
        must(gw_col64_at(message.finished.attempt, i) == expected + i, "order of results");
    return message.finished.attempt.count;
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    uint32_t count = argc > 1 ? (uint32_t)atoi(argv[1]) : 1000000, sent = 0, got = 0;
    struct gw_channel *channel;
    pid_t pid = start_runner(&channel);
    const struct gw_message spec = {
        .type = GW_MESSAGE_spec, .spec = {.key = 1, .kind = GW_SPEC_FUNCTION, .function = "echo"}};
    must(gw_channel_put(channel, &spec, (struct gw_channel_fds){0}) == 0, "put");
    (void)take(channel, 0); /* hello */
    count = (count + BATCH - 1) / BATCH * BATCH;
    uint64_t began_ns = gw_clock_now_ns();
    while (got < count) {
        for (; sent < count && sent - got <= IN_FLIGHT - BATCH; sent += BATCH)
            put_batch(channel, sent);
        must(gw_channel_flush(channel) == 0, "flush");
        got += take(channel, got);
    }
    double total_ns = (double)(gw_clock_now_ns() - began_ns);
    printf("%.0f ns a task, %.0f tasks/s\n", total_ns / count, count / total_ns * 1e9);
    gw_channel_free(channel);
    waitpid(pid, NULL, 0);
    return 0;
}
