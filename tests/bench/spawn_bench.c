/* spawn_bench [COUNT]: runs /bin/true COUNT times, two at a time, directly and through the
 * supervisor (session, output files, reaping), alternating in one run. Prints microseconds per
 * process and the ratio. */
#include "graph/base/clock.h"
#include "graph/wire/channel.h"
#include "graph/wire/codec.h"
#include "worker/supervisor/supervisor.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 5, IN_FLIGHT = 2 };
extern char **environ;

static void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "spawn_bench: %s\n", what);
        exit(1);
    }
}

/* Returns the CPU time, in microseconds, of this process and of all processes that it has waited
 * for. */
static double cpu_us(void)
{
    double us = 0;
    for (int i = 0; i < 2; i++) {
        struct rusage usage;
        getrusage(i ? RUSAGE_CHILDREN : RUSAGE_SELF, &usage);
        us += 1e6 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
              (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    }
    return us;
}

static double bare(int count)
{
    char name[] = "/bin/true";
    char *argv[] = {name, NULL};
    uint64_t began_ns = gw_clock_now_ns();
    for (int started = 0, ended = 0; ended < count;) {
        pid_t pid;
        if (started < count && started - ended < IN_FLIGHT) {
            must(posix_spawn(&pid, name, NULL, NULL, argv, environ) == 0, "posix_spawn");
            started++;
        } else {
            must(waitpid(-1, NULL, 0) > 0, "waitpid");
            ended++;
        }
    }
    return (double)(gw_clock_now_ns() - began_ns) / 1000 / count;
}

static void encode(struct gw_buffer *buffer, char *const *items)
{
    struct gw_value *list = gw_list();
    for (; *items; items++)
        must(gw_list_push(list, gw_str(*items)) == 0, "list");
    must(gw_codec_encode(list, NULL, buffer) == 0, "encode");
    gw_value_unref(list);
}

static double guarded(struct gw_channel *channel, const char *dir, int count)
{
    char name[] = "/bin/true", out[64], err[64];
    char *argv[] = {name, NULL};
    struct gw_buffer arguments = {0}, env = {0};
    encode(&arguments, argv);
    encode(&env, environ);
    snprintf(out, sizeof out, "%s/out", dir);
    snprintf(err, sizeof err, "%s/err", dir);
    struct gw_message message = {.type = GW_MESSAGE_spawn,
                                 .spawn = {.path = name,
                                           .argv = {arguments.data, (uint32_t)arguments.size},
                                           .env = {env.data, (uint32_t)env.size},
                                           .cwd = "/",
                                           .out = out,
                                           .err = err,
                                           .output_bytes_max = 1 << 20}};
    struct gw_message answer;
    int fds[64];
    uint8_t fd_count;
    uint64_t began_ns = gw_clock_now_ns();
    for (int started = 0, ended = 0; ended < count;) {
        while (started < count && started - ended < IN_FLIGHT) {
            message.spawn.process = (uint64_t)started++;
            must(gw_channel_put(channel, &message, (struct gw_channel_fds){0}) == 0, "put");
        }
        must(gw_channel_flush(channel) == 0, "flush");
        must(gw_channel_get(channel, true, &answer, fds, &fd_count, NULL) == 0, "get");
        must(answer.type != GW_MESSAGE_spawned || answer.spawned.code == 0, "spawned");
        ended += answer.type == GW_MESSAGE_reaped;
    }
    gw_buffer_deinit(&arguments);
    gw_buffer_deinit(&env);
    return (double)(gw_clock_now_ns() - began_ns) / 1000 / count;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "supervisor") == 0)
        return gw_supervisor_main(argc - 1, argv + 1);
    int count = argc > 1 ? atoi(argv[1]) : 1000, fds[2];
    char dir[] = "/tmp/gangway-bench-XXXXXX", path[64];
    must(count > 0 && mkdtemp(dir) != NULL, "a count and a folder");
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0, "socketpair");
    pid_t supervisor = fork();
    if (supervisor == 0) {
        if (fds[1] == 3)
            fcntl(3, F_SETFD, 0);
        else
            dup2(fds[1], 3);
        execl("/proc/self/exe", "gangway", "supervisor", (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    struct gw_channel *channel;
    must(gw_channel_new(fds[0], &channel) == 0, "channel");
    guarded(channel, dir, IN_FLIGHT); /* so that the reapers exist */
    double began_us = cpu_us(), bare_cpu_us = 0;
    int each = count / ROUNDS + 1;
    for (int i = 0; i < ROUNDS; i++) {
        double before_us = cpu_us();
        double bare_us = bare(each);
        bare_cpu_us += cpu_us() - before_us;
        double guarded_us = guarded(channel, dir, each);
        printf("bare %.0f us, guarded %.0f us, ratio %.2f\n", bare_us, guarded_us,
               guarded_us / bare_us);
    }
    gw_channel_free(channel);
    waitpid(supervisor, NULL, 0);
    double guarded_cpu_us = cpu_us() - began_us - bare_cpu_us;
    printf("CPU: bare %.0f us, guarded %.0f us, ratio %.2f\n", bare_cpu_us / (each * ROUNDS),
           guarded_cpu_us / (each * ROUNDS), guarded_cpu_us / bare_cpu_us);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, i ? "err" : "out");
        unlink(path);
    }
    return rmdir(dir) == 0 ? 0 : 1;
}
