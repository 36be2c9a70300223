/* Measures the memory of the worker and its processes periodically. */
#ifndef GW_NET_USAGE_H
#define GW_NET_USAGE_H

#include "worker/core/node.h"

#include <sys/types.h>
#include <uv.h>

struct gw_usage;

struct gw_usage_options {
    uv_loop_t *loop;
    /* Returns what must be watched in a process. Called on the loop's thread. */
    void (*watched)(uint64_t process, struct gw_node_watched *watched, void *arg);
    /* Receives a USAGE event on the loop's thread. The event is borrowed during the call. */
    void (*on_measured)(const struct gw_event *event, void *arg);
    void *arg;
};

struct gw_usage *gw_usage_new(const struct gw_usage_options *options);

/* gw_usage_add measures a new process and all its descendants until gw_usage_remove. The parent of
 * the process is its own reaper, so all processes below the parent count. */
void gw_usage_add(struct gw_usage *usage, uint64_t process, pid_t pid);
void gw_usage_remove(struct gw_usage *usage, uint64_t process);

/* gw_usage_pid returns the pid of a process that was added. 0: none. */
pid_t gw_usage_pid(const struct gw_usage *usage, uint64_t process);

/* gw_usage_hurry sets if memory is short, so that measurements are needed more often. */
void gw_usage_hurry(struct gw_usage *usage, bool hurry);

/* gw_usage_close frees the structure in a later turn. on_measured is not called any more. */
void gw_usage_close(struct gw_usage *usage);

/* gw_usage_cpu_of returns the CPU time that a process and its descendants have used, in tenths of a
 * second. 0: it has ended. */
uint64_t gw_usage_cpu_of(pid_t pid);

#endif
