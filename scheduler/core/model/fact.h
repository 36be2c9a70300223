/* Facts: changes of state that outlive the scheduler (facts.def lists the facts).
 *
 * GW_FACT(sched, name, .member = ...) applies one fact: it encodes a fact about a detached job, or
 * about no job, into the step's commit, then calls gw_sched_apply_<name>, which is in the file of
 * the thing that the fact is about. All other changes of state are functions of model/, which are
 * called directly. */
#ifndef GW_SCHEDULER_CORE_FACT_H
#define GW_SCHEDULER_CORE_FACT_H

#include "graph/wire/message.h"

struct gw_sched;
struct gw_remote;
struct gw_session;
struct gw_job;
struct gw_worker;
struct gw_resource_class;
struct gw_worker_queue;
struct gw_placed_rank;
struct gw_gang_attempt;
struct gw_end;
struct gw_cancel;
struct gw_pending_request;
struct gw_tunnel;
struct gw_actor;
struct gw_event;
struct gw_queue;
struct gw_reserved_rank;
struct gw_reservation;
struct gw_sync;
struct gw_sync_waiter;
struct gw_share;
struct gw_adopted;
struct gw_late_claim;

/* Counters of a task's attempts, for the retry budgets. */
struct gw_charges {
    uint16_t tries;    /* attempts that were started */
    uint8_t retries;   /* after errors of the user's code */
    uint8_t crashes;   /* runner processes that died while running it */
    uint8_t losses;    /* workers that were lost while running it */
    uint8_t uncounted; /* number of ends of attempts that do not count against the retry budget
                          (this number has a limit, too) */
    uint8_t preemptions;
    uint8_t ports; /* number of attempts that failed because another process used their MASTER_PORT
                    */
};

/* The result of a rank: its size, and a small value itself, or the worker or token that has it. */
struct gw_result {
    uint64_t bytes;
    const void *value; /* NULL: the worker or token has the value */
    uint32_t size;
    struct gw_worker *worker;
    uint64_t token; /* 0: none */
};

struct gw_results {
    const struct gw_result *items;
    uint32_t count;
};

enum gw_fact_type {
#define DURABLE(name, number, ...) GW_FACT_##name = (number),
#define F(kind, field)
    GW_FACT_none,
#include "scheduler/core/model/facts.def"
#undef F
#undef DURABLE
};

#define GW_FACT_KIND_U32 uint32_t
#define GW_FACT_KIND_U64 uint64_t
#define GW_FACT_KIND_I32 int32_t
#define GW_FACT_KIND_STR const char *
#define GW_FACT_KIND_BIN struct gw_bin
#define GW_FACT_KIND_CHARGES struct gw_charges
#define GW_FACT_KIND_RESULTS struct gw_results

/* `at` is the job that the fact names. NULL: the applier finds the job by its id.
 * gw_sched_fact_log_<name> appends the bytes of a fact to the step's commit. */
#define F(kind, field) GW_FACT_KIND_##kind field;
#define DURABLE(name, number, ...)                                                                 \
    struct gw_fact_##name {                                                                        \
        struct gw_job *at;                                                                         \
        __VA_ARGS__                                                                                \
    };                                                                                             \
    void gw_sched_fact_log_##name(struct gw_sched *sched, const struct gw_fact_##name *fact);      \
    void gw_sched_apply_##name(struct gw_sched *sched, const struct gw_fact_##name *fact);
#include "scheduler/core/model/facts.def"
#undef DURABLE
#undef F

#define GW_FACT(sched, name, ...)                                                                  \
    do {                                                                                           \
        const struct gw_fact_##name gw_fact_ = {__VA_ARGS__};                                      \
        gw_sched_fact_log_##name((sched), &gw_fact_);                                              \
        gw_sched_apply_##name((sched), &gw_fact_);                                                 \
    } while (0)

#endif
