/* One execution of a task function, as its runner sees it; what user code sees is gangway/task.h.
 */
#ifndef GW_RUNNER_TASK_H
#define GW_RUNNER_TASK_H

#include "worker/runner/actor.h"
#include "worker/runner/task_link.h"
#include "worker/runner/task_result.h"

#include <gangway/task.h>
#include <stdbool.h>

struct gw_client;

/* How a task reaches the world; NULL in a task: nobody listens (inline mode). */
struct gw_task_hooks {
    /* rank 0 reports a step; name and number are borrowed */
    void (*metric)(void *arg, int64_t step, const char *name, double value);
    /* how far it is; text may be NULL, and is borrowed */
    void (*progress)(void *arg, double fraction, const char *text);
    /* rank 0 of a gang has saved the gang's checkpoint, under its attempt's name */
    void (*saved)(void *arg, int64_t step);
    /* any rank: it is alive */
    void (*alive)(void *arg);
    /* what the user wants of a training function: GW_CONTINUE, GW_PAUSE, GW_STOP */
    int (*control)(void *arg);
    /* a connection for gw_task_client; blocks. GW_EAGAIN: not at the moment; GW_ECLOSED, GW_EIO */
    int (*link)(void *arg, struct gw_task_link *link, struct gw_error *error);
    /* the task's thread goes to sleep for others, or goes on */
    void (*blocked)(void *arg, bool blocked);
    void *arg;
};

struct gw_task {
    const struct gw_function *function;
    struct gw_value *args; /* a list, without references; owned */
    uint64_t job;
    uint32_t index, try_number, rank, world, local_rank;
    struct gw_comm *comm; /* owned; NULL: not yet needed */
    const struct gw_task_hooks *hooks;
    struct gw_actor_kept *actor; /* that it makes or is a call of; NULL: none */
    bool makes_actor;
    int answered; /* by the last gw_task_step */
    struct gw_error error;
    struct gw_task_result result;
    /* Of a gang: its attempt, whose name its checkpoint has, and the attempt whose checkpoint is
     * the current one before it has saved its own (0: none). attempt 0: one file for all attempts.
     */
    uint64_t attempt, checkpoint_from;
    bool checkpoint_saved;
    bool checkpoint_lost;                         /* the host that saved the current one is lost */
    char checkpoint_dir[4096];                    /* empty until asked */
    struct gw_client *client;                     /* NULL: not asked for */
    void (*client_end)(struct gw_client *client); /* closes it, when the task has ended */
};

/* gw_task_init makes an ordinary task of rank 0 of 1 that has no arguments; set more before it
 * runs. gw_task_deinit frees what it owns. gw_task_reset makes it so again, keeping memory. */
void gw_task_init(struct gw_task *task);
void gw_task_reset(struct gw_task *task);
void gw_task_deinit(struct gw_task *task);

/* gw_task_end_client closes the task's client, if it has one; reset and deinit do so, too. */
void gw_task_end_client(struct gw_task *task);

/* gw_task_run calls the function. 0 where it ended well (a result is set: nil, if it gave none),
 * else its negative code, with a text in task->error in any case. */
int gw_task_run(struct gw_task *task);

#endif
