/* Reads /proc on a thread of libuv, by a timer that runs only while there are processes.
 *
 * Invariant: at most one measurement is in progress, with its own list of processes.
 *
 * Shared memory (mapped results and files) is not counted here: the core counts each result once.
 * Memory that a forked process shares with its parent until one of them writes is counted twice by
 * /proc/PID/statm, which is cheap to read. Only if the sum is above what a task asked for, the
 * proportional sizes (smaps_rollup) are read, for which the kernel walks all pages of the process.
 */
#include "worker/net/parts/usage.h"

#include "graph/base/clock.h"
#include "graph/base/map.h"
#include "graph/base/must.h"
#include "worker/net/parts/mpi.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LOOK_MS = 500,
    HURRY_MS = 50,
    DEPTH_MAX = 64,
    TEXT_BYTES = 4096,
    CPU_MS = 5000, /* pause between two measurements of CPU time */
    /* Maximum pause between checks for MPI; it begins with HURRY_MS and doubles */
    MPI_PAUSE_MS = 10000,
};

struct process {
    pid_t pid;
    pid_t reaper; /* its parent, which orphans are moved to; 0: not measured yet, or it has ended */
    uint64_t mpi_at_ms, mpi_pause_ms;
    uint64_t cpu_at_ms; /* when its CPU time is measured next */
    /* When it may be measured exactly again, and the last exact size */
    uint64_t exact_at_ms, exact_bytes;
};

/* One process in one measurement. Only the measurement's thread uses it. */
struct look {
    pid_t pid, root;      /* root: count all below it, without itself; 0: count pid and all below */
    uint64_t limit_bytes; /* 0: no limit */
    uint64_t exact_bytes; /* last exact size, updated by this measurement */
    bool may_count, counts; /* counts: shared pages were counted once */
    bool cpu;               /* measure the CPU time now */
    bool ranks, mpi;        /* ranks: MPI programs are refused. mpi: check for MPI now */
    struct gw_error found;  /* code 0: it is not an MPI program */
};

struct gw_usage {
    struct gw_usage_options options;
    uv_timer_t timer;
    uv_work_t work;
    struct gw_map processes; /* process -> struct process, owned */
    struct gw_process_use *uses;
    struct look *looks; /* uses[i] is the result of looks[i] */
    uint32_t use_count;
    uint64_t own_bytes;
    bool looking, hurry, closed;
    bool near; /* a process is near its limit, or was started recently and may be an MPI program */
};

/* -- /proc ---------------------------------------------------------------------------------------
 */

static bool read_text(const char *path, char text[TEXT_BYTES])
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t bytes = fread(text, 1, TEXT_BYTES - 1, file);
    (void)fclose(file);
    text[bytes] = '\0';
    return bytes > 0;
}

/* Returns the anonymous memory of a process. arg: a process that does not count, or NULL. */
static uint64_t anonymous_of(pid_t pid, void *arg)
{
    char path[64], text[TEXT_BYTES];
    unsigned long long size, resident, shared;
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    if ((arg && *(const pid_t *)arg == pid) || !read_text(path, text) ||
        sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3)
        return 0;
    return resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Returns the exact anonymous memory of a process, including its part of shared pages and swap. */
static uint64_t exact_anonymous_of(pid_t pid, void *arg)
{
    char path[64], text[TEXT_BYTES];
    unsigned long long kib, swap = 0;
    if (arg && *(const pid_t *)arg == pid)
        return 0;
    (void)snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    const char *at = read_text(path, text) ? strstr(text, "\nPss_Anon:") : NULL;
    if (!at || sscanf(at, " Pss_Anon: %llu kB", &kib) != 1)
        return anonymous_of(pid, arg); /* the process has ended, or the kernel is too old */
    at = strstr(text, "\nSwapPss:");
    if (at)
        (void)sscanf(at, " SwapPss: %llu kB", &swap);
    return (uint64_t)(kib + swap) << 10;
}

/* Returns the CPU time of a process and of the children that it has waited for. */
static uint64_t cpu_of(pid_t pid, void *arg)
{
    char path[64], text[TEXT_BYTES];
    unsigned long long user, system, children_user, children_system;
    (void)arg;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const char *at = read_text(path, text) ? strrchr(text, ')') : NULL;
    if (!at || sscanf(at + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %llu %llu",
                      &user, &system, &children_user, &children_system) != 4)
        return 0;
    return user + system + children_user + children_system;
}

/* Returns 1 for an MPI program. Only the first one in a tree is explained. */
static uint64_t mpi_of(pid_t pid, void *arg)
{
    struct gw_error *found = arg;
    char path[64], name[TEXT_BYTES], text[GW_MPI_TEXT];
    if (found->code || !gw_mpi_process(pid, text))
        return 0;
    (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    if (!read_text(path, name))
        return 0;
    name[strcspn(name, "\n")] = '\0';
    (void)gw_mpi_explain(name, text, found);
    return 1;
}

typedef uint64_t of_process(pid_t pid, void *arg);

static uint64_t tree_of(pid_t pid, int depth, of_process *of, void *arg);

/* Returns the sum over the children of one thread of a process. */
static uint64_t children_of(pid_t pid, const char *thread, int depth, of_process *of, void *arg)
{
    char path[320], text[TEXT_BYTES], *at = text, *end;
    uint64_t bytes = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)pid, thread);
    if (!read_text(path, text))
        return 0;
    for (long child; (child = strtol(at, &end, 10)) > 0 && end != at; at = end)
        bytes += tree_of((pid_t)child, depth, of, arg);
    return bytes;
}

/* Returns the sum of a value over a process and its descendants. */
static uint64_t tree_of(pid_t pid, int depth, of_process *of, void *arg)
{
    char path[64];
    uint64_t bytes = of(pid, arg);
    if (depth >= DEPTH_MAX)
        return bytes;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            bytes += children_of(pid, entry->d_name, depth + 1, of, arg);
    if (dir)
        (void)closedir(dir);
    return bytes;
}

static pid_t parent_of(pid_t pid)
{
    char path[64], text[TEXT_BYTES];
    int parent;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const char *at = read_text(path, text) ? strrchr(text, ')') : NULL;
    return at && sscanf(at + 1, " %*c %d", &parent) == 1 && parent > 1 ? (pid_t)parent : 0;
}

/* Returns the anonymous memory of a process and its descendants, including orphans, in bytes.
 * Mapped files and results are not included. 0: it has ended. */
static uint64_t memory_of(struct look *look)
{
    pid_t root = look->root ? look->root : look->pid;
    uint64_t bytes = tree_of(root, 0, anonymous_of, &look->root);
    if (!look->limit_bytes || bytes <= look->limit_bytes)
        return bytes;
    look->counts = look->may_count;
    if (look->counts)
        look->exact_bytes = tree_of(root, 0, exact_anonymous_of, &look->root);
    return look->exact_bytes;
}

uint64_t gw_usage_cpu_of(pid_t pid)
{
    const uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK) / 10;
    return tree_of(pid, 0, cpu_of, NULL) / (ticks ? ticks : 1);
}

/* -- Timer ---------------------------------------------------------------------------------------
 */

static void usage_on_timer(uv_timer_t *timer);

static struct process *find(const struct gw_usage *usage, uint64_t id)
{
    uint64_t value;
    return gw_map_get(&usage->processes, id, &value) ? (struct process *)(uintptr_t)value : NULL;
}

static void usage_on_closed(uv_handle_t *handle)
{
    struct gw_usage *usage = handle->data;
    size_t at = 0;
    uint64_t id, value;
    while (gw_map_next(&usage->processes, &at, &id, &value))
        free((struct process *)(uintptr_t)value);
    gw_map_deinit(&usage->processes);
    free(usage->uses);
    free(usage->looks);
    free(usage);
}

static void arm(struct gw_usage *usage)
{
    if (usage->processes.count && !usage->looking)
        (void)uv_timer_start(&usage->timer, usage_on_timer,
                             usage->hurry || usage->near ? HURRY_MS : LOOK_MS, 0);
}

static void look_on_thread(uv_work_t *work)
{
    struct gw_usage *usage = work->data;
    for (uint32_t i = 0; i < usage->use_count; i++) {
        struct look *look = &usage->looks[i];
        if (!look->root)
            look->root = parent_of(look->pid);
        usage->uses[i].bytes = memory_of(look);
        if (look->cpu)
            usage->uses[i].cpu_ns = gw_usage_cpu_of(look->pid) * (GW_NS_PER_S / 10);
        pid_t root = look->root ? look->root : look->pid;
        if (look->mpi && tree_of(root, 0, mpi_of, &look->found))
            usage->uses[i].mpi = look->found.text;
    }
    usage->own_bytes = anonymous_of(getpid(), NULL);
}

/* Sets when expensive checks of a process are done again. */
static void note(struct gw_usage *usage, uint32_t i, uint64_t now_ms)
{
    struct process *process = find(usage, usage->uses[i].process);
    const struct look *look = &usage->looks[i];
    if (!process || process->pid != look->pid)
        return; /* the process was removed meanwhile */
    process->reaper = look->root;
    if (look->cpu)
        process->cpu_at_ms = now_ms + CPU_MS;
    if (look->counts) {
        process->exact_at_ms = now_ms + LOOK_MS;
        process->exact_bytes = look->exact_bytes;
    }
    if (look->mpi) {
        uint64_t pause_ms = process->mpi_pause_ms ? 2 * process->mpi_pause_ms : HURRY_MS;
        process->mpi_pause_ms = pause_ms < MPI_PAUSE_MS ? pause_ms : MPI_PAUSE_MS;
        process->mpi_at_ms = now_ms + process->mpi_pause_ms;
    }
    usage->near = usage->near || (look->ranks && process->mpi_pause_ms < LOOK_MS) ||
                  (look->limit_bytes && usage->uses[i].bytes > look->limit_bytes / 2);
}

static void look_on_done(uv_work_t *work, int status)
{
    struct gw_usage *usage = work->data;
    (void)status;
    usage->looking = false;
    if (usage->closed) {
        uv_close((uv_handle_t *)&usage->timer, usage_on_closed);
        return;
    }
    usage->near = false;
    for (uint32_t i = 0; i < usage->use_count; i++)
        note(usage, i, uv_now(usage->options.loop));
    usage->options.on_measured(&(struct gw_event){.type = GW_EVENT_USAGE,
                                                  .number = usage->own_bytes,
                                                  .uses = usage->uses,
                                                  .use_count = usage->use_count},
                               usage->options.arg);
    if (!usage->closed)
        arm(usage);
}

static struct look look_at(const struct gw_usage *usage, uint64_t id, const struct process *process)
{
    struct gw_node_watched watched;
    uint64_t now_ms = uv_now(usage->options.loop);
    usage->options.watched(id, &watched, usage->options.arg);
    return (struct look){
        .pid = process->pid,
        .root = process->reaper,
        .limit_bytes = watched.memory_bytes,
        .exact_bytes = process->exact_bytes,
        .may_count = now_ms >= process->exact_at_ms,
        .cpu = now_ms >= process->cpu_at_ms,
        .ranks = watched.ranks,
        .mpi = watched.ranks && now_ms >= process->mpi_at_ms,
    };
}

static void usage_on_timer(uv_timer_t *timer)
{
    struct gw_usage *usage = timer->data;
    size_t at = 0;
    uint64_t id, value;
    usage->uses = realloc(usage->uses, (usage->processes.count + 1) * sizeof *usage->uses);
    usage->looks = realloc(usage->looks, (usage->processes.count + 1) * sizeof *usage->looks);
    GW_MUST_PTR(usage->uses);
    GW_MUST_PTR(usage->looks);
    usage->use_count = 0;
    while (gw_map_next(&usage->processes, &at, &id, &value)) {
        usage->uses[usage->use_count] = (struct gw_process_use){.process = id};
        usage->looks[usage->use_count++] =
            look_at(usage, id, (const struct process *)(uintptr_t)value);
    }
    usage->looking = true;
    int rc = uv_queue_work(usage->options.loop, &usage->work, look_on_thread, look_on_done);
    assert(rc == 0);
    (void)rc;
}

struct gw_usage *gw_usage_new(const struct gw_usage_options *options)
{
    struct gw_usage *usage = calloc(1, sizeof *usage);
    GW_MUST_PTR(usage);
    usage->options = *options;
    usage->work.data = usage;
    (void)uv_timer_init(options->loop, &usage->timer);
    usage->timer.data = usage;
    return usage;
}

void gw_usage_add(struct gw_usage *usage, uint64_t id, pid_t pid)
{
    struct process *process = calloc(1, sizeof *process);
    GW_MUST_PTR(process);
    process->pid = pid;
    process->cpu_at_ms = uv_now(usage->options.loop) + CPU_MS;
    struct gw_node_watched watched;
    gw_usage_remove(usage, id);
    GW_MUST(gw_map_put(&usage->processes, id, (uintptr_t)process));
    usage->options.watched(id, &watched, usage->options.arg);
    bool sooner = !usage->near && (watched.ranks || watched.memory_bytes);
    usage->near = usage->near || sooner;
    if (sooner || !uv_is_active((uv_handle_t *)&usage->timer))
        arm(usage);
}

void gw_usage_remove(struct gw_usage *usage, uint64_t id)
{
    free(find(usage, id));
    gw_map_remove(&usage->processes, id);
}

pid_t gw_usage_pid(const struct gw_usage *usage, uint64_t id)
{
    const struct process *process = find(usage, id);
    return process ? process->pid : 0;
}

void gw_usage_hurry(struct gw_usage *usage, bool hurry)
{
    bool sooner = hurry && !usage->hurry;
    usage->hurry = hurry;
    if (sooner)
        arm(usage);
}

void gw_usage_close(struct gw_usage *usage)
{
    usage->closed = true;
    (void)uv_timer_stop(&usage->timer);
    if (!usage->looking)
        uv_close((uv_handle_t *)&usage->timer, usage_on_closed);
}
