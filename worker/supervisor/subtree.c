/* Finds and signals a subtree of processes.
 *
 * Invariants: a process is signalled in the same scan in which it was found, so its number cannot
 * have been reused. No process outside the root's subtree is signalled. This holds for process
 * groups, too: a group belongs to one session, and a session created below the root contains only
 * descendants of the root. */
#include "worker/supervisor/subtree.h"

#include "graph/base/array.h"

#include <gangway/error.h>

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct process {
    pid_t pid, parent, group, session;
    bool ended;
};

struct table {
    GW_ARRAY(struct process) processes;
};

/* The program's name may contain any characters, so fields are counted from the last parenthesis.
 */
static bool parse_stat(const char *text, struct process *process)
{
    const char *end = strrchr(text, ')');
    char state;
    int parent, group, session;
    if (!end || sscanf(end + 1, " %c %d %d %d", &state, &parent, &group, &session) != 4)
        return false;
    process->parent = parent;
    process->group = group;
    process->session = session;
    process->ended = state == 'Z' || state == 'X';
    return true;
}

static bool read_stat(int proc_fd, const char *pid, struct process *process)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "%.16s/stat", pid);
    int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t bytes = read(fd, text, sizeof text - 1);
    close(fd);
    if (bytes <= 0)
        return false;
    text[bytes] = '\0';
    process->pid = (pid_t)strtol(pid, NULL, 10);
    return parse_stat(text, process);
}

static int read_table(struct table *table)
{
    DIR *proc = opendir("/proc");
    if (!proc)
        return GW_EIO;
    int rc = 0;
    struct dirent *entry;
    struct process process;
    while (rc == 0 && (entry = readdir(proc)))
        if (isdigit((unsigned char)entry->d_name[0]) &&
            read_stat(dirfd(proc), entry->d_name, &process))
            rc = gw_array_push(&table->processes, process);
    closedir(proc);
    return rc;
}

/* Adds descendants to the set until there are no more. In /proc, parents mostly come before their
 * children, so two passes are usually enough. */
static int mark(const struct table *table, const struct gw_subtree_options *options,
                struct gw_map *below)
{
    size_t before;
    do {
        before = below->count;
        for (size_t i = 0; i < table->processes.count; i++) {
            const struct process *process = &table->processes.items[i];
            bool child = process->parent == options->root ||
                         gw_map_get(below, (uint64_t)process->parent, NULL);
            if (!child || process->pid == options->root ||
                (options->spare && gw_map_get(options->spare, (uint64_t)process->pid, NULL)))
                continue;
            if (gw_map_put(below, (uint64_t)process->pid, 1) < 0)
                return GW_ENOMEM;
        }
    } while (below->count != before);
    return 0;
}

static void send_signal(const struct process *process, pid_t session, int number)
{
    kill(process->pid, number);
    if (number == SIGKILL && process->session != session && process->group > 1)
        kill(-process->group, number);
    if (number != SIGKILL)
        kill(process->pid, SIGCONT);
}

int gw_subtree_signal(const struct gw_subtree_options *options, size_t *alive)
{
    struct table table = {{0}};
    struct gw_map below = {0};
    size_t found = 0;
    int rc = read_table(&table);
    if (rc == 0)
        rc = mark(&table, options, &below);

    pid_t session = getsid(options->root);
    for (size_t i = 0; rc == 0 && i < table.processes.count; i++) {
        const struct process *process = &table.processes.items[i];
        if (process->ended || !gw_map_get(&below, (uint64_t)process->pid, NULL))
            continue;
        found++;
        send_signal(process, session, options->signal);
    }
    if (rc == 0)
        *alive = found;
    gw_map_deinit(&below);
    gw_array_deinit(&table.processes);
    return rc;
}
