/* counters_live: counts the context switches and system calls per task in each process of a real
 * cluster. To keep the variation small, all processes share one CPU under SCHED_BATCH: a process
 * that is woken waits until the others have nothing left to do.
 *
 *     counters_live   one per line: scenario role switches|syscalls figure
 *
 * Only voluntary switches are counted, of all threads of a process. In a runner only the first
 * thread is counted, because another one depends on the clock. System calls are counted by ptrace,
 * one process after another; if ptrace is not allowed, these lines are left out. A process cannot
 * trace itself, so helper processes do it, which are forked before there are other threads.
 *
 * tests/bench/counters/check runs it and compares. */
#include "client/cli/bench/bench.h"

#include <gangway/gangway.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum role { CLIENT, SCHEDULER, WORKER, RUNNER, ROLES };
static const char *const role_names[ROLES] = {"client", "scheduler", "worker", "runner"};

static void fail(const char *what)
{
    (void)fprintf(stderr, "counters_live: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int who(struct gw_task *task)
{
    int64_t i;
    int rc = gw_task_arg_i64(task, 0, &i);
    return rc < 0 ? rc : gw_task_return(task, gw_i64(i * (INT64_C(1) << 22) + getpid()));
}
GW_TASK(who);

/* -- Helpers -------------------------------------------------------------------------------------
 */

struct helper {
    pid_t pid;
    int fd;
};

/* Receives a process, answers whether it can be traced (0 or an error), and then answers each
 * request with the count. When the helper ends, the process continues untraced. */
static void help(int fd)
{
    pid_t pid;
    struct gw_bench_trace *trace;
    int64_t answer;
    char asked;
    if (read(fd, &pid, sizeof pid) != sizeof pid)
        _exit(0);
    answer = gw_bench_process_trace_open(pid, &trace, NULL);
    while (write(fd, &answer, sizeof answer) == sizeof answer && answer >= 0 &&
           read(fd, &asked, 1) == 1)
        answer = (int64_t)gw_bench_process_trace_count(trace);
    _exit(0);
}

static void helper_open(struct helper *helper)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        fail("socketpair");
    helper->pid = fork();
    if (helper->pid < 0)
        fail("fork");
    if (helper->pid == 0) {
        close(fds[0]);
        help(fds[1]);
    }
    close(fds[1]);
    helper->fd = fds[0];
}

static int64_t helper_ask(const struct helper *helper, const void *pending, size_t bytes)
{
    int64_t answer;
    if (write(helper->fd, pending, bytes) != (ssize_t)bytes ||
        read(helper->fd, &answer, sizeof answer) != sizeof answer)
        fail("a helper");
    return answer;
}

/* Helpers that were forked later have copies of the socket. */
static void helper_close(struct helper *helper)
{
    (void)shutdown(helper->fd, SHUT_RDWR);
    close(helper->fd);
    (void)waitpid(helper->pid, NULL, 0);
}

/* -- Tasks ---------------------------------------------------------------------------------------
 */

/* Submits the tasks from first to first + count - 1 at once. Returns the process of the runner. */
static pid_t submit(struct gw_client *client, int64_t first, uint32_t count)
{
    enum { MAX = 2048 };
    static gw_node nodes[MAX];
    static struct gw_future *futures[MAX];
    static struct gw_value *values[MAX];
    struct gw_error error;
    struct gw_graph *graph = gw_graph_new();
    int64_t value = 0;
    for (uint32_t i = 0; i < count; i++)
        nodes[i] = gw_call(graph, who, NULL, gw_i64(first + i));
    if (gw_client_submit_many(client, graph, NULL, nodes, count, futures, &error) < 0 ||
        gw_gather(client, futures, count, values, &error) < 0)
        gw_error_exit(&error);
    for (uint32_t i = 0; i < count; i++) {
        if (gw_value_get_i64(values[i], &value, &error) < 0)
            gw_error_exit(&error);
        if (value >> 22 != first + i) {
            (void)fprintf(stderr, "counters_live: task %u gave a wrong result\n", i);
            exit(1);
        }
        gw_value_unref(values[i]);
        gw_future_release(futures[i]);
    }
    gw_graph_free(graph);
    return (pid_t)(value & ((1 << 22) - 1));
}

static const struct scenario {
    const char *name;
    uint32_t times, each;
} scenarios[] = {{"trickle", 400, 1}, {"bag", 8, 2048}};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

static double run(struct gw_client *client, const struct scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->times; i++)
        (void)submit(client, i * (int64_t)scenario->each, scenario->each);
    return (double)scenario->times * scenario->each;
}

/* -- Figures -------------------------------------------------------------------------------------
 */

/* Reads a number from the status of a process and its first thread; 0 if the process has ended. */
static uint64_t status_of(pid_t pid, const char *what)
{
    char path[64], line[256];
    uint64_t number = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, what, strlen(what)) == 0)
            number = strtoull(line + strlen(what), NULL, 10);
    if (file)
        (void)fclose(file);
    return number;
}

/* Finds the worker daemon above a runner, by its command line. */
static pid_t worker_of(pid_t pid)
{
    while ((pid = (pid_t)status_of(pid, "PPid:")) > 1) {
        char path[64], line[256] = "";
        (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
        FILE *file = fopen(path, "re");
        size_t bytes = file ? fread(line, 1, sizeof line - 1, file) : 0;
        if (file)
            (void)fclose(file);
        if (bytes > strlen(line) + 1 && strcmp(line + strlen(line) + 1, "worker") == 0)
            return pid;
    }
    (void)fprintf(stderr, "counters_live: no worker stands above the runner\n");
    exit(1);
}

static void read_switches(const pid_t pids[ROLES], uint64_t switches[ROLES])
{
    struct gw_bench bench = {0};
    struct gw_bench_usage usage;
    for (enum role role = CLIENT; role < RUNNER; role++) {
        if (gw_bench_process_usage(&bench, pids[role], &usage) < 0)
            gw_error_exit(&bench.error);
        switches[role] = usage.switches;
    }
    switches[RUNNER] = status_of(pids[RUNNER], "voluntary_ctxt_switches:");
}

/* Only for tasks that run one by one: in a bag the switches are few and vary by chance. */
static void count_switches(struct gw_client *client, const pid_t pids[ROLES])
{
    uint64_t before[ROLES], after[ROLES];
    read_switches(pids, before);
    double tasks = run(client, &scenarios[0]);
    read_switches(pids, after);
    for (enum role role = CLIENT; role < ROLES; role++)
        printf("%s %s switches %.3f\n", scenarios[0].name, role_names[role],
               (double)(after[role] - before[role]) / tasks);
}

static void count_calls(struct gw_client *client, struct helper *helper, enum role role, pid_t pid)
{
    if (helper_ask(helper, &pid, sizeof pid) < 0)
        return;
    for (int s = 0; s < (role == CLIENT ? 1 : SCENARIOS);
         s++) { /* in a bag, the client makes only a few */
        (void)submit(client, 0, 1);
        int64_t before = helper_ask(helper, "", 1);
        double tasks = run(client, &scenarios[s]);
        printf("%s %s syscalls %.3f\n", scenarios[s].name, role_names[role],
               (double)(helper_ask(helper, "", 1) - before) / tasks);
    }
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    struct helper helpers[ROLES];
    struct gw_client *client;
    struct gw_error error;
    const struct sched_param param = {0};
    const struct gw_client_options options =
        GW_INIT(gw_client_options, .private_cluster = true, .slots = 1);
    cpu_set_t all, one;
    for (int role = 0; role < ROLES; role++)
        helper_open(&helpers[role]);
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (sched_getaffinity(0, sizeof all, &all) < 0)
        fail("sched_getaffinity");
    CPU_ZERO(&one);
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && CPU_COUNT(&one) == 0; cpu--)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) < 0 ||
        sched_setscheduler(0, SCHED_BATCH, &param) < 0)
        fail("one CPU under SCHED_BATCH");
    if (gw_client_open(&options, &client, &error) < 0)
        gw_error_exit(&error);
    (void)submit(client, 0, 2048);
    pid_t runner = submit(client, 0, 1);
    const pid_t pids[ROLES] = {getpid(), gw_bench_process_of_scheduler(client), worker_of(runner),
                               runner};
    count_switches(client, pids);
    for (enum role role = CLIENT; role < ROLES; role++) {
        count_calls(client, &helpers[role], role, pids[role]);
        helper_close(&helpers[role]);
    }
    gw_client_close(client);
    return 0;
}
