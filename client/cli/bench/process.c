/* What the kernel knows about the cluster's processes: time, memory, system calls.
 *
 * The tracer is a single thread, because only the thread that has attached to a process may wait
 * for it and continue it. It can stop only when the traced process makes another system call after
 * `stop` was set. */
#include "client/cli/bench/bench.h"
#include "client/link/client.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t gw_bench_process_of_scheduler(const struct gw_client *client)
{
    return client->io ? gw_io_peer_pid(client->io) : 0;
}

/* -- Usage ---------------------------------------------------------------------------------------
 */

/* Calls `each` for every thread of a process. */
static int each_thread(pid_t pid, int (*each)(pid_t pid, pid_t thread, void *arg), void *arg)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return GW_ENOENT;
    int rc = 0;
    for (struct dirent *entry; rc == 0 && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            rc = each(pid, (pid_t)strtol(entry->d_name, NULL, 10), arg);
    (void)closedir(dir);
    return rc;
}

static int add_thread(pid_t pid, pid_t thread, void *arg)
{
    struct gw_bench_usage *usage = arg;
    unsigned long long ran_ns = 0, switches = 0;
    char path[64], line[256];
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)thread);
    FILE *file = fopen(path, "re");
    bool read = file && fscanf(file, "%llu", &ran_ns) == 1;
    if (file)
        (void)fclose(file);
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)thread);
    file = read ? fopen(path, "re") : NULL;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "voluntary_ctxt_switches: %llu", &switches) == 1)
            break;
    if (file)
        (void)fclose(file);
    usage->cpu_ns += ran_ns;
    usage->switches += switches;
    return file ? 0 : GW_EIO;
}

static int untold(struct gw_bench *bench, pid_t pid)
{
    return gw_error_set(&bench->error, GW_EIO,
                        "cannot read from /proc how much memory and time process %d uses",
                        (int)pid);
}

int gw_bench_process_usage(struct gw_bench *bench, pid_t pid, struct gw_bench_usage *usage)
{
    *usage = (struct gw_bench_usage){0};
    return each_thread(pid, add_thread, usage) < 0 ? untold(bench, pid) : 0;
}

/* Uses smaps_rollup, which the kernel counts when it is read. The values in /proc/PID/status are
 * late by megabytes. */
int gw_bench_process_bytes(struct gw_bench *bench, pid_t pid, uint64_t *bytes)
{
    char path[64], line[256];
    uint64_t kib = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        unsigned long long some;
        if (sscanf(line, "Pss_Anon: %llu", &some) == 1 ||
            sscanf(line, "Pss_Shmem: %llu", &some) == 1)
            kib += some;
    }
    if (file)
        (void)fclose(file);
    if (!kib)
        return untold(bench, pid);
    *bytes = kib << 10;
    return 0;
}

/* -- System calls --------------------------------------------------------------------------------
 */

enum { THREADS_MAX = 64 };

struct gw_bench_trace {
    pid_t pid;
    pthread_t thread;
    pthread_mutex_t lock; /* guards `begun` and `failed` */
    pthread_cond_t cond;
    bool begun;
    int failed; /* errno if attaching failed */
    _Atomic bool stop;
    _Atomic uint64_t stops; /* two stops for each system call */
    pid_t threads[THREADS_MAX];
    uint32_t count;
};

static int seize(pid_t pid, pid_t thread, void *arg)
{
    struct gw_bench_trace *trace = arg;
    if (trace->count == THREADS_MAX)
        return GW_ELIMIT;
    void *options = (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD;
    if (ptrace(PTRACE_SEIZE, thread, NULL, options) < 0 ||
        ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) < 0)
        return -errno;
    trace->threads[trace->count++] = thread;
    return 0;
}

static void begun(struct gw_bench_trace *trace, int failed)
{
    pthread_mutex_lock(&trace->lock);
    trace->begun = true;
    trace->failed = failed;
    pthread_cond_signal(&trace->cond);
    pthread_mutex_unlock(&trace->lock);
}

/* Waits until each thread has stopped, and detaches from it. */
static void let_go(struct gw_bench_trace *trace, pid_t stopped)
{
    for (uint32_t i = 0; i < trace->count; i++) {
        pid_t thread = trace->threads[i];
        int status = 0;
        if (thread != stopped && (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) < 0 ||
                                  waitpid(thread, &status, __WALL) < 0))
            continue;
        (void)ptrace(PTRACE_DETACH, thread, NULL, NULL);
    }
}

static void *trace_main(void *arg)
{
    struct gw_bench_trace *trace = arg;
    int rc = each_thread(trace->pid, seize, trace), status;
    begun(trace, rc < 0 ? -rc : 0);
    if (rc < 0) {
        let_go(trace, 0);
        return NULL;
    }
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL | __WNOTHREAD);
        if (thread < 0 && errno != EINTR)
            return NULL; /* the process has ended */
        if (thread < 0 || !WIFSTOPPED(status))
            continue;
        if (atomic_load(&trace->stop)) {
            let_go(trace, thread);
            return NULL;
        }
        int signal = WSTOPSIG(status), deliver = 0;
        if (signal == (SIGTRAP | 0x80))
            atomic_fetch_add(&trace->stops, 1);
        else if (status >> 16 == 0 && signal != SIGTRAP)
            deliver = signal;
        (void)ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(uintptr_t)deliver);
    }
}

int gw_bench_process_trace_open(pid_t pid, struct gw_bench_trace **out, struct gw_error *error)
{
    struct gw_bench_trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    trace->pid = pid;
    pthread_mutex_init(&trace->lock, NULL);
    pthread_cond_init(&trace->cond, NULL);
    if (pthread_create(&trace->thread, NULL, trace_main, trace) != 0) {
        free(trace);
        return gw_error_set(error, GW_EIO, "cannot start a thread");
    }
    pthread_mutex_lock(&trace->lock);
    while (!trace->begun)
        pthread_cond_wait(&trace->cond, &trace->lock);
    int failed = trace->failed;
    pthread_mutex_unlock(&trace->lock);
    if (failed) {
        pthread_join(trace->thread, NULL);
        free(trace);
        return gw_error_set(
            error, GW_EPERM,
            "cannot count the system calls of process %d, because it cannot be traced (ptrace): %s",
            (int)pid, strerror(failed));
    }
    *out = trace;
    return 0;
}

uint64_t gw_bench_process_trace_count(const struct gw_bench_trace *trace)
{
    return atomic_load(&trace->stops) / 2;
}

void gw_bench_process_trace_close(struct gw_bench_trace *trace, struct gw_client *client)
{
    struct gw_value *status;
    atomic_store(&trace->stop, true);
    if (gw_client_query(client, "status", NULL, &status, NULL) ==
        0) /* the query makes the scheduler do a system call */
        gw_value_unref(status);
    pthread_join(trace->thread, NULL);
    free(trace);
}
