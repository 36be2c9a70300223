/* The states of tasks, attempts, gangs, workers, jobs and actors, and their state machines. */
#ifndef GW_SCHEDULER_CORE_MODEL_STATES_H
#define GW_SCHEDULER_CORE_MODEL_STATES_H

#include "graph/base/sm.h"

enum gw_task_state {
    GW_TASK_RETIRED,    /* the task is one of a range, has ended, and its row in the table was
                           freed; a freed row reads as 0 */
    GW_TASK_WAITING,    /* for its dependencies */
    GW_TASK_READY,      /* in a ready queue */
    GW_TASK_PLACED,     /* given to a worker */
    GW_TASK_CANCELLING, /* at a worker that was told to end the attempt */
    GW_TASK_DONE,
    GW_TASK_RELEASED, /* done, and its result was released */
    GW_TASK_FAILED,
    GW_TASK_CANCELLED,
    GW_TASK_PIPELINED, /* at the worker that runs its dependencies */
};

enum gw_attempt_state {
    GW_ATTEMPT_FREE,
    GW_ATTEMPT_SENT,
    GW_ATTEMPT_RUNNING,
    GW_ATTEMPT_KILLED,
    GW_ATTEMPT_RECALLED, /* asked back to be placed elsewhere; may still run */
};

enum gw_gang_state {
    GW_GANG_PREPARING, /* ranks are starting */
    GW_GANG_READY,     /* all ranks have started */
    GW_GANG_RUNNING,
    GW_GANG_ENDING, /* a rank ended badly; the others are being ended */
    GW_GANG_ENDED,
    GW_GANG_RECOVERING, /* after a restart: not all ranks were reported yet */
};

enum gw_worker_state {
    GW_WORKER_CONNECTED,
    GW_WORKER_REJOINING, /* registered; attempts of its earlier connection are ending */
    GW_WORKER_READY,
    /* Runs nothing; waits until its checkpoints were copied, see leave.h. */
    GW_WORKER_SHUTTING_DOWN,
    GW_WORKER_LOST,
};

enum gw_job_state { GW_JOB_OPEN, GW_JOB_RUNNING, GW_JOB_ENDED };

enum gw_pause {
    GW_PAUSE_NONE,
    GW_PAUSE_BY_OWNER,
    GW_PAUSE_BY_ADMIN, /* an admin has paused the job of another user: only an admin resumes it */
};

enum gw_actor_state {
    GW_ACTOR_CREATING,   /* its task has not finished starting it */
    GW_ACTOR_ALIVE,      /* accepts calls */
    GW_ACTOR_RESTARTING, /* its runner or worker was lost; its task runs again */
    GW_ACTOR_ENDING,     /* ended by a user, or no handle to it is left */
    GW_ACTOR_DEAD,
};

extern struct gw_sm gw_sched_task_sm, gw_sched_attempt_sm, gw_sched_gang_sm, gw_sched_worker_sm,
    gw_sched_job_sm, gw_sched_actor_sm, gw_sched_tunnel_sm;

#endif
