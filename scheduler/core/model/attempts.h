/* Attempts of tasks and gangs: how they run and how they ended. See state.h. */
#ifndef GW_SCHEDULER_CORE_MODEL_ATTEMPTS_H
#define GW_SCHEDULER_CORE_MODEL_ATTEMPTS_H

#include "scheduler/core/model/fact.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

struct gw_job;
struct gw_session;
struct gw_worker;
struct gw_worker_queue;

/* One task, or one rank of a gang, at one worker. */
struct gw_attempt {
    /* Fields that every task uses: 64 bytes, because thousands of attempts exist at once. */
    uint64_t id; /* id of the attempt; in messages, all ranks of a gang have the id of the attempt
                    of rank 0 */
    struct gw_job *job;
    struct gw_worker *worker;
    struct gw_worker_queue *lane;
    uint32_t index, rank;
    uint32_t prev, next; /* of its worker; next: also of the list of free slots */
    uint32_t generation;
    uint8_t state;
    bool is_long : 1, blocked : 1; /* blocked: waits for other tasks, with yielded slots */
    bool stands : 1;               /* a call of an actor, or an actor that has started */
    bool pipelined : 1;            /* its task waits: its inputs do not count as fetched yet */
    bool drain_ends : 1;           /* is being ended because its worker is drained */
    uint8_t preempted : 4;         /* was told to end by this preemption; 0: by none */
    bool ends_next : 1;            /* adopted as ended: the report of its end will follow */
    bool billed : 1;               /* its payer is billed while it runs, see account.h */
    bool fetches : 1;              /* the worker fetches some inputs for this attempt */
    uint64_t expected_bytes;       /* see memory.h */

    /* Other fields. */
    struct gw_gang_attempt *gang; /* NULL: not a gang */
    struct gw_session *sessions;  /* clients inside its task, linked by inside_next; NULL: none */
    /* 0: not yet. If the attempt was adopted and is older than the clock of this host, they are
     * negative (modulo 2^64): only differences to now_ns have a meaning. */
    uint64_t placed_ns, started_ns;
    uint64_t cpu_ns;       /* CPU time so far, which its worker reports at times */
    uint64_t near_bytes;   /* size of the inputs that its worker had */
    uint64_t told;         /* number of the fact that announced it; 0: none */
    uint16_t gpus, gpu;    /* number of GPUs, and the first; a worker has at most 256 */
    uint16_t gpu_fraction; /* thousandths of its one GPU; 0: whole GPUs */
    bool aside;            /* counted in worker->aside */
    uint8_t why;           /* enum gw_placed_why */
};
static_assert(sizeof(struct gw_attempt) == 128, "a shift finds an attempt, not a multiplication");

/* Where a rank is placed. */
struct gw_placed_rank {
    struct gw_worker *worker;
    const uint32_t *gpus; /* numbers of its GPUs; NULL: none */
};

/* How an attempt ended, if it did not end well. */
struct gw_end {
    uint32_t outcome;
    int32_t code, exit_code, signal;
    bool executing, port_taken;
    bool dismissed; /* lost, because its worker was dismissed or told to end */
    const char *text, *stderr_tail;
    uint64_t run_ns; /* run time of a function that failed; else 0 */
    uint32_t peer;   /* UNREACHED: the rank that could not be reached */
};

struct gw_rank {
    uint32_t slot;   /* of its attempt; GW_NO_INDEX: the rank has ended */
    uint32_t worker; /* id */
    /* `asked`: the worker of the rank was asked to inspect the rank's process. `seen`: the worker
     * has answered. */
    bool ready, finished, asked, seen;
    /* `still`: the rank made no progress within the hang timeout. `stopped`: its process is
     * stopped by SIGSTOP. `idle`: the process used no CPU time and wrote no output. */
    bool still, stopped, idle;
    uint64_t begun;          /* collectives that it has called */
    char operation[24];      /* name of the collective that it is in */
    struct gw_result result; /* value is owned */
    char *door, *stack;      /* `door`: address "host:port" of a rank that is a command. `stack`:
                                the result of the inspection of its process. Both are owned, or
                                NULL */
};

/* One attempt of a gang. */
struct gw_gang_attempt {
    uint64_t id;
    struct gw_job *job;
    uint32_t index;
    uint8_t state;
    uint32_t count, ready, live;
    struct gw_rank *ranks;
    uint64_t deadline_ns;                /* time by which all ranks must have started */
    struct gw_gang_attempt *prev, *next; /* list of preparing gangs, by deadline */
    void *info;
    uint32_t info_size;
    bool stopped;           /* asked to stop: it does not restart, however it ends */
    bool paused;            /* its results do not count, because it continues later */
    bool growing;           /* was told to pause so that it can continue with more ranks */
    bool early, port_taken; /* failed soon after the start; the MASTER_PORT was in use */
    bool stood, late;       /* a rank made no progress; ranks that were late are inspected */
    uint64_t went_ns;
    uint64_t from_attempt; /* attempt whose checkpoint it continues from; 0: none */
    int64_t from_step;
    bool from_lost; /* the checkpoint was lost */
    bool mirrors;   /* for a gang of commands: the checkpoint folder of rank 0 is copied to all
                       workers of the gang */
    uint64_t token; /* token of the data of rank 0; 0: none */
    uint32_t cause_rank, cause_worker; /* GW_NO_INDEX and 0: not caused by a rank */
    struct gw_end cause;               /* texts are owned */
};

/* A worker, by name, that made gangs fail or could not set up the files of tasks. */
struct gw_quarantine {
    char name[64];
    bool files;        /* true: could not set up files, gets no task with files */
    uint32_t failures; /* consecutive failures */
    uint64_t until_ns;
    bool over; /* it may take ranks again */
};

/* gw_sched_attempt_gpu_thousandths returns the thousandths of GPUs that an attempt has. */
static inline uint64_t gw_sched_attempt_gpu_thousandths(const struct gw_attempt *attempt)
{
    return attempt->gpu_fraction ? attempt->gpu_fraction : (uint64_t)attempt->gpus * 1000;
}

#endif
