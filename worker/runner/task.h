/* One execution of a task function, as the runner sees it. User code sees gangway/task.h. */
#ifndef GW_RUNNER_TASK_H
#define GW_RUNNER_TASK_H

#include "worker/runner/actor.h"
#include "worker/runner/task_link.h"
#include "worker/runner/task_result.h"

#include <gangway/task.h>
#include <stdbool.h>

struct gw_client;

/* Functions by which a task reaches the worker. NULL in a task: the task runs in inline mode. */
struct gw_task_hooks {
    /* Rank 0 reports a step; name is borrowed */
    void (*metric)(void *arg, int64_t step, const char *name, double value);
    /* Reports progress; text is borrowed and may be NULL */
    void (*progress)(void *arg, double fraction, const char *text);
    /* Rank 0 of a gang has saved the gang's checkpoint of this attempt */
    void (*saved)(void *arg, int64_t step);
    /* Any rank reports a sign of life */
    void (*alive)(void *arg);
    /* Returns the user's wish for a training function: GW_CONTINUE, GW_PAUSE or GW_STOP */
    int (*control)(void *arg);
    /* Opens a connection for gw_task_client; blocks. GW_EAGAIN: not possible at the moment;
     * GW_ECLOSED, GW_EIO */
    int (*link)(void *arg, struct gw_task_link *link, struct gw_error *error);
    /* The task's thread begins or ends a wait for other tasks */
    void (*blocked)(void *arg, bool blocked);
    void *arg;
};

struct gw_task {
    const struct gw_function *function;
    struct gw_value *args; /* a list without references; owned */
    uint64_t job;
    uint32_t index, try_number, rank, world, local_rank;
    struct gw_comm *comm; /* owned; NULL: not needed yet */
    bool is_gpu_shared;   /* ranks of its gang have MIG instances of one physical GPU */
    const struct gw_task_hooks *hooks;
    struct gw_actor_instance *actor; /* the actor that it creates or is a call of; NULL: none */
    bool makes_actor;
    uint64_t until_step; /* gw_task_step returns GW_STOP from this step on; 0: no such step */
    int answered;        /* last answer of gw_task_step */
    struct gw_error error;
    struct gw_task_result result;
    /* In a gang: attempt is in the name of its checkpoint. checkpoint_from is the attempt whose
     * checkpoint is current until this attempt has saved its own (0: none). If attempt is 0, all
     * attempts share one file. */
    uint64_t attempt, checkpoint_from;
    bool checkpoint_saved;
    bool checkpoint_lost;                         /* the host of the current one is lost */
    char checkpoint_dir[4096];                    /* empty until requested */
    struct gw_client *client;                     /* NULL: not requested */
    void (*client_end)(struct gw_client *client); /* closes it at the task's end */
};

/* gw_task_init creates an ordinary task without arguments, with rank 0 of 1. The caller sets other
 * fields before it runs. gw_task_deinit frees what the task owns. gw_task_reset returns it to the
 * state after gw_task_init, but keeps its memory. */
void gw_task_init(struct gw_task *task);
void gw_task_reset(struct gw_task *task);
void gw_task_deinit(struct gw_task *task);

/* gw_task_end_client closes the task's client, if it has one. gw_task_reset and gw_task_deinit do
 * so, too. */
void gw_task_end_client(struct gw_task *task);

/* gw_task_run calls the function. Returns 0 if it succeeded (a result is set; nil if the function
 * returned none), otherwise its negative code. task->error then always has a text. */
int gw_task_run(struct gw_task *task);

#endif
