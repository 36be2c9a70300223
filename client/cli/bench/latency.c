/* One task at a time: the time from submission to result; the same time divided by that of four
 * round trips over a unix socket, in the same run; and the scheduler's cost. */
#include "client/cli/bench/bench.h"
#include "client/cli/bench/tasks.h"
#include "graph/base/clock.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS_MAX = 2000, PACKET_BYTES = 64 };

static int one_task(struct gw_bench *bench, struct gw_client *client, int64_t i, double *seconds)
{
    struct gw_future *future;
    int64_t result;
    uint64_t begin_ns = gw_clock_now_ns();
    int rc = gw_submit(client, bench_noop, NULL, GW_ARGS(gw_i64(i)), &future, &bench->error);
    if (rc < 0)
        return rc;
    rc = gw_bench_get_i64(bench, future, &result);
    *seconds = gw_bench_seconds_since(begin_ns);
    if (rc == 0 && gw_bench_plain(result) != gw_bench_expected(i))
        rc = gw_bench_wrong(bench, (size_t)i);
    gw_future_release(future);
    return rc;
}

static int some_tasks(struct gw_bench *bench, struct gw_client *client, size_t count,
                      double *seconds)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = one_task(bench, client, (int64_t)i, &seconds[i]);
    return rc;
}

int gw_bench_latency(struct gw_bench *bench, double *figures)
{
    static double seconds[ROUNDS_MAX];
    size_t rounds = gw_bench_count(bench, ROUNDS_MAX, 50);
    struct gw_client *client;
    int rc = gw_bench_open(bench, 2, 1, &client);
    if (rc < 0)
        return rc;
    rc = some_tasks(bench, client, 20, seconds); /* starts runners */
    if (rc == 0)
        rc = some_tasks(bench, client, rounds, seconds);
    if (rc == 0)
        figures[0] = gw_bench_median(seconds, rounds) * 1e6;
    gw_client_close(client);
    return rc;
}

/* -- Compared with round trips ------------------------------------------------------------------
 */

/* A process that sends back what it receives, until the other end is closed. */
struct echo {
    pid_t pid;
    int fd;
};

static int echo_open(struct gw_bench *bench, struct echo *echo)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return gw_error_set(&bench->error, GW_EIO, "socketpair: %s", strerror(errno));
    echo->pid = fork();
    if (echo->pid == 0) { /* the child of a process with threads may only make system calls */
        char packet[PACKET_BYTES];
        ssize_t bytes;
        close(fds[0]);
        while ((bytes = read(fds[1], packet, sizeof packet)) > 0)
            if (write(fds[1], packet, (size_t)bytes) < 0)
                break;
        _exit(0);
    }
    close(fds[1]);
    echo->fd = fds[0];
    if (echo->pid > 0)
        return 0;
    close(fds[0]);
    return gw_error_set(&bench->error, GW_EIO, "fork: %s", strerror(errno));
}

static void echo_close(struct echo *echo)
{
    close(echo->fd);
    (void)waitpid(echo->pid, NULL, 0);
}

static int four_round_trips(struct gw_bench *bench, const struct echo *echo, double *seconds)
{
    char packet[PACKET_BYTES] = {0};
    uint64_t begin_ns = gw_clock_now_ns();
    for (int i = 0; i < 4; i++)
        if (write(echo->fd, packet, sizeof packet) != sizeof packet ||
            read(echo->fd, packet, sizeof packet) != sizeof packet)
            return gw_error_set(&bench->error, GW_EIO,
                                "the process that sends messages back does not answer");
    *seconds = gw_bench_seconds_since(begin_ns);
    return 0;
}

/* Measures tasks and round trips alternately, so that other load on the machine affects both. */
static int ratio(struct gw_bench *bench, double *figure)
{
    enum { TURNS = 20, EACH = 50 };
    static double tasks[TURNS * EACH], trips[TURNS * EACH];
    struct gw_client *client;
    struct echo echo = {0};
    size_t turns = bench->quick ? 1 : TURNS;
    int rc = gw_bench_open(bench, 2, 1, &client);
    if (rc < 0)
        return rc;
    rc = echo_open(bench, &echo);
    if (rc == 0) {
        rc = some_tasks(bench, client, 20, tasks);
        for (size_t turn = 0; turn < turns && rc == 0; turn++) {
            rc = some_tasks(bench, client, EACH, &tasks[turn * EACH]);
            for (size_t i = 0; i < EACH && rc == 0; i++)
                rc = four_round_trips(bench, &echo, &trips[turn * EACH + i]);
        }
        echo_close(&echo);
    }
    gw_client_close(client);
    if (rc == 0)
        *figure = gw_bench_median(tasks, turns * EACH) / gw_bench_median(trips, turns * EACH);
    return rc;
}

/* Runs this process and its cluster on one CPU, then measures again on all CPUs. */
int gw_bench_latency_ratio(struct gw_bench *bench, double *figures)
{
    cpu_set_t before, one;
    if (sched_getaffinity(0, sizeof before, &before) < 0)
        return gw_error_set(&bench->error, GW_EIO, "sched_getaffinity: %s", strerror(errno));
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) < 0)
        return gw_error_set(&bench->error, GW_EIO, "sched_setaffinity: %s", strerror(errno));
    int rc = ratio(bench, &figures[0]);
    if (sched_setaffinity(0, sizeof before, &before) < 0 && rc == 0)
        rc = gw_error_set(&bench->error, GW_EIO, "sched_setaffinity: %s", strerror(errno));
    return rc == 0 ? ratio(bench, &figures[1]) : rc;
}

/* -- Cost of the scheduler ----------------------------------------------------------------------
 */

static int trickle(struct gw_bench *bench, struct gw_client *client, double *figures)
{
    static double seconds[ROUNDS_MAX];
    struct gw_bench_usage before, after;
    struct gw_bench_trace *trace;
    pid_t pid = gw_bench_process_of_scheduler(client);
    size_t count = gw_bench_count(bench, ROUNDS_MAX, 50);
    int rc = some_tasks(bench, client, 20, seconds);
    if (rc == 0)
        rc = gw_bench_process_usage(bench, pid, &before);
    if (rc == 0)
        rc = some_tasks(bench, client, count, seconds);
    if (rc == 0)
        rc = gw_bench_process_usage(bench, pid, &after);
    if (rc < 0)
        return rc;
    figures[0] = (double)(after.cpu_ns - before.cpu_ns) / 1e3 / (double)count;
    figures[2] = (double)(after.switches - before.switches) / (double)count;

    figures[1] = NAN;
    if (gw_bench_process_trace_open(pid, &trace, NULL) < 0)
        return 0;
    rc = some_tasks(bench, client, 10, seconds);
    uint64_t begin = gw_bench_process_trace_count(trace);
    if (rc == 0)
        rc = some_tasks(bench, client, count / 5, seconds);
    figures[1] = (double)(gw_bench_process_trace_count(trace) - begin) / (double)(count / 5);
    gw_bench_process_trace_close(trace, client);
    return rc;
}

int gw_bench_latency_trickle(struct gw_bench *bench, double *figures)
{
    struct gw_client *client;
    int rc = gw_bench_open(bench, 2, 1, &client);
    if (rc < 0)
        return rc;
    rc = trickle(bench, client, figures);
    gw_client_close(client);
    return rc;
}
