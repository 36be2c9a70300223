/* A scheduler core with simulated workers, for benchmarks of gangs. Messages are passed by pointer,
 * and take no time. Each worker has 8 slots and 8 GPUs on a host of its own. */
#ifndef GW_TESTS_BENCH_GANG_CORE_H
#define GW_TESTS_BENCH_GANG_CORE_H

#include "scheduler/core/sched.h"

enum { GANG_CORE_GPUS = 8 };

struct gang_core {
    struct gw_sched *sched;
    struct gw_effects effects;
    uint64_t *sequence; /* by the number of a peer */
    uint64_t now_ns;    /* of all events */
    /* Is called with each message that assigns attempts to a worker. */
    void (*on_assign)(void *context, uint64_t worker, const struct gw_msg_assign *assign);
    /* Is called for each attempt on each worker that is to be killed. NULL: never happens. */
    void (*on_kill)(void *context, uint64_t attempt);
    void *context;
};

/* gang_core_init starts a core for peers with the numbers 1 to `peers`. Pair with
 * gang_core_deinit. on_assign and context are set by the caller, before or after this. */
void gang_core_init(struct gang_core *core, const struct gw_sched_options *options, uint64_t peers);
void gang_core_deinit(struct gang_core *core);

void gang_core_step(struct gang_core *core, struct gw_event event);
void gang_core_send(struct gang_core *core, uint64_t peer, struct gw_message message);
void gang_core_add_worker(struct gang_core *core, uint64_t worker);
/* `user` may be NULL. */
void gang_core_add_client(struct gang_core *core, uint64_t client, const char *user);

/* gang_core_submit submits a job of one task. It fills in what is the same in all benchmarks: one
 * slot and one GPU a rank, and a function, unless spec->kind says otherwise. spec->key, which also
 * is the number of the request, starts at 1. */
void gang_core_submit(struct gang_core *core, uint64_t client, const struct gw_msg_spec *spec);

void gang_core_rank_ready(struct gang_core *core, uint64_t worker, uint64_t attempt, uint32_t rank);
/* The rank returns one byte. rank is GW_RANK_NONE for a task that is no gang. */
void gang_core_finish(struct gang_core *core, uint64_t worker, uint64_t attempt, uint32_t rank,
                      uint64_t run_ns);

#endif
