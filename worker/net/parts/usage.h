/* How much memory the worker and its processes use, looked at from time to time. */
#ifndef GW_NET_USAGE_H
#define GW_NET_USAGE_H

#include "worker/core/node.h"

#include <sys/types.h>
#include <uv.h>

struct gw_usage;

struct gw_usage_options {
    uv_loop_t *loop;
    /* What is looked at in a process; on the loop's thread. */
    void (*watched)(uint64_t process, struct gw_node_watched *watched, void *arg);
    /* A USAGE event, on the loop's thread; borrowed during the call. */
    void (*on_measured)(const struct gw_event *event, void *arg);
    void *arg;
};

struct gw_usage *gw_usage_new(const struct gw_usage_options *options);

/* gw_usage_add has a process that was just started looked at until gw_usage_remove, with all its
 * descendants: its parent is its own reaper, so what is below that is. */
void gw_usage_add(struct gw_usage *usage, uint64_t process, pid_t pid);
void gw_usage_remove(struct gw_usage *usage, uint64_t process);

/* gw_usage_pid is the pid of a process that was added; 0: there is none. */
pid_t gw_usage_pid(const struct gw_usage *usage, uint64_t process);

/* gw_usage_hurry says whether memory is short: it is looked at more often then. */
void gw_usage_hurry(struct gw_usage *usage, bool hurry);

/* gw_usage_close frees it in a later turn; on_measured is not called any more. */
void gw_usage_close(struct gw_usage *usage);

/* gw_usage_cpu_of is the CPU time that a process and its descendants have used, in tenths of a
 * second; 0 where it is gone. */
uint64_t gw_usage_cpu_of(pid_t pid);

#endif
