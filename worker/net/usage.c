/* Looking at /proc on one of libuv's threads, by a timer that runs only while there are processes.
 *
 * Always: one look at a time; its list of processes is its own. What a process shares (results that
 * it maps, files) is not counted here: results are counted once, by the core. */
#include "worker/net/usage.h"

#include "graph/base/map.h"
#include "graph/base/must.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 500, HURRY_MS = 50, DEPTH_MAX = 64, TEXT_BYTES = 4096 };

struct gw_usage {
    struct gw_usage_options options;
    uv_timer_t timer;
    uv_work_t work;
    struct gw_map pids; /* process -> pid */
    struct gw_process_use *uses;
    pid_t *looked_at; /* uses[i] is of this one */
    uint32_t use_count;
    uint64_t own_bytes;
    bool looking, hurry, closed;
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

static uint64_t anonymous_of(pid_t pid)
{
    char path[64], text[TEXT_BYTES];
    unsigned long long size, resident, shared;
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    if (!read_text(path, text) || sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3)
        return 0;
    return resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Of itself and of those that it has waited for. */
static uint64_t cpu_of(pid_t pid)
{
    char path[64], text[TEXT_BYTES];
    unsigned long long user, system, children_user, children_system;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const char *at = read_text(path, text) ? strrchr(text, ')') : NULL;
    if (!at || sscanf(at + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %llu %llu",
                      &user, &system, &children_user, &children_system) != 4)
        return 0;
    return user + system + children_user + children_system;
}

static uint64_t tree_of(pid_t pid, int depth, uint64_t (*of)(pid_t));

/* What one thread of a process has forked. */
static uint64_t children_of(pid_t pid, const char *thread, int depth, uint64_t (*of)(pid_t))
{
    char path[320], text[TEXT_BYTES], *at = text, *end;
    uint64_t bytes = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)pid, thread);
    if (!read_text(path, text))
        return 0;
    for (long child; (child = strtol(at, &end, 10)) > 0 && end != at; at = end)
        bytes += tree_of((pid_t)child, depth, of);
    return bytes;
}

static uint64_t tree_of(pid_t pid, int depth, uint64_t (*of)(pid_t))
{
    char path[64];
    uint64_t bytes = of(pid);
    if (depth >= DEPTH_MAX)
        return bytes;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            bytes += children_of(pid, entry->d_name, depth + 1, of);
    if (dir)
        (void)closedir(dir);
    return bytes;
}

/* The anonymous memory of a process and its descendants, in bytes: what is mapped of files and
 * results is not in it. 0 where it is gone. */
static uint64_t memory_of(pid_t pid)
{
    return tree_of(pid, 0, anonymous_of);
}

uint64_t gw_usage_cpu_of(pid_t pid)
{
    const uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK) / 10;
    return tree_of(pid, 0, cpu_of) / (ticks ? ticks : 1);
}

/* -- The timer -----------------------------------------------------------------------------------
 */

static void usage_on_timer(uv_timer_t *timer);

static void usage_on_closed(uv_handle_t *handle)
{
    struct gw_usage *usage = handle->data;
    gw_map_deinit(&usage->pids);
    free(usage->uses);
    free(usage->looked_at);
    free(usage);
}

static void arm(struct gw_usage *usage)
{
    if (usage->pids.count && !usage->looking)
        (void)uv_timer_start(&usage->timer, usage_on_timer, usage->hurry ? HURRY_MS : LOOK_MS, 0);
}

static void look_on_thread(uv_work_t *work)
{
    struct gw_usage *usage = work->data;
    for (uint32_t i = 0; i < usage->use_count; i++)
        usage->uses[i].bytes = memory_of(usage->looked_at[i]);
    usage->own_bytes = anonymous_of(getpid());
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
    usage->options.on_measured(&(struct gw_event){.type = GW_EVENT_USAGE,
                                                  .number = usage->own_bytes,
                                                  .uses = usage->uses,
                                                  .use_count = usage->use_count},
                               usage->options.arg);
    if (!usage->closed)
        arm(usage);
}

static void usage_on_timer(uv_timer_t *timer)
{
    struct gw_usage *usage = timer->data;
    size_t at = 0;
    uint64_t process, pid;
    usage->uses = realloc(usage->uses, (usage->pids.count + 1) * sizeof *usage->uses);
    usage->looked_at = realloc(usage->looked_at, (usage->pids.count + 1) * sizeof(pid_t));
    GW_MUST_PTR(usage->uses);
    GW_MUST_PTR(usage->looked_at);
    usage->use_count = 0;
    while (gw_map_next(&usage->pids, &at, &process, &pid)) {
        usage->uses[usage->use_count] = (struct gw_process_use){process, 0};
        usage->looked_at[usage->use_count++] = (pid_t)pid;
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

void gw_usage_add(struct gw_usage *usage, uint64_t process, pid_t pid)
{
    GW_MUST(gw_map_put(&usage->pids, process, (uint64_t)pid));
    if (!uv_is_active((uv_handle_t *)&usage->timer))
        arm(usage);
}

void gw_usage_remove(struct gw_usage *usage, uint64_t process)
{
    gw_map_remove(&usage->pids, process);
}

pid_t gw_usage_pid(const struct gw_usage *usage, uint64_t process)
{
    uint64_t pid;
    return gw_map_get(&usage->pids, process, &pid) ? (pid_t)pid : 0;
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
