/* The other half of gw_init: the loop of a process that executes tasks, and the same in-process. */
#ifndef GW_RUNNER_RUNNER_H
#define GW_RUNNER_RUNNER_H

#include "graph/base/arena.h"
#include "worker/runner/actor.h"

#include <gangway/task.h>

/* gw_runner_main speaks with the worker on fd (takes it) until the worker is gone, and ends the
 * process. */
void gw_runner_main(int fd) __attribute__((noreturn));

/* One task to execute inside this process. */
struct gw_runner_call {
    const struct gw_function *function;
    struct gw_value *args;        /* a list in which reference k stands for deps[k]; borrowed */
    struct gw_value *const *deps; /* borrowed; NULL items: dependencies without data */
    uint32_t dep_count;
    uint32_t ranks; /* 0: an ordinary task; else a gang of as many threads */
    uint64_t job;
    uint32_t index, try_number;
    struct gw_actor_kept *actor; /* that it makes, or is a call of; NULL: none */
    bool makes_actor;
};

/* gw_runner_call executes a task on the calling thread, a gang's ranks on threads of their own, and
 * waits. values has room for max(ranks, 1) results, owned by the caller then. The function's own
 * error, with the rank it came from in the text of a gang (the first that failed); GW_ENOMEM.
 * Output stays on this process's streams, and gw_task_step always continues. */
int gw_runner_call(const struct gw_runner_call *call, struct gw_value **values,
                   struct gw_error *error);

#endif
