/* The main loop of a runner process, which executes tasks, and the execution of tasks inside any
 * process. */
#ifndef GW_RUNNER_RUNNER_H
#define GW_RUNNER_RUNNER_H

#include "graph/base/arena.h"
#include "worker/runner/actor.h"

#include <gangway/task.h>

/* gw_runner_main exchanges messages with the worker on fd (which it takes over) until the worker is
 * gone, and then ends the process. */
void gw_runner_main(int fd) __attribute__((noreturn));

/* A task to execute inside this process. */
struct gw_runner_call {
    const struct gw_function *function;
    struct gw_value *args;        /* a list in which reference k stands for deps[k]; borrowed */
    struct gw_value *const *deps; /* borrowed; a NULL item is a dependency without data */
    uint32_t dep_count;
    uint32_t ranks; /* 0: an ordinary task; otherwise a gang of that many threads */
    uint64_t job;
    uint32_t index, try_number;
    struct gw_actor_instance *actor; /* the actor that it creates or is a call of; NULL: none */
    bool makes_actor;
    uint64_t until_step; /* as in struct gw_task_options */
};

/* gw_runner_call executes a task on the calling thread, or the ranks of a gang on threads of their
 * own, and waits for the end. values has room for max(ranks, 1) results, which the caller then
 * owns. Returns the error of the function (for a gang, that of the first rank that failed, with the
 * rank in the text) or GW_ENOMEM. Output stays on this process's streams. gw_task_step always
 * returns GW_CONTINUE. */
int gw_runner_call(const struct gw_runner_call *call, struct gw_value **values,
                   struct gw_error *error);

#endif
