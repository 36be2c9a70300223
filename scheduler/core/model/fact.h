/* Facts: the only way in which the scheduler's state changes (facts.def is the list).
 *
 * GW_FACT(sched, name, .member = ...) applies one: encodes it into the step's commit where it is
 * durable, then calls gw_sched_apply_<name>, which lives in the file of the noun it is about. */
#ifndef GW_SCHEDULER_CORE_FACT_H
#define GW_SCHEDULER_CORE_FACT_H

#include "graph/wire/message.h"

struct gw_sched;
struct gw_remote;
struct gw_session;
struct gw_job;
struct gw_worker;
struct gw_shape;
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

/* What is charged to a task. */
struct gw_charges {
    uint16_t tries;    /* attempts that were started */
    uint8_t retries;   /* after the user's own errors */
    uint8_t crashes;   /* ends of a runner under it */
    uint8_t losses;    /* workers lost under it */
    uint8_t uncharged; /* ends that nobody is charged for; bounded all the same */
    uint8_t preemptions;
    uint8_t ports; /* attempts whose MASTER_PORT a stranger took */
};

/* A rank's value: bytes, and the value itself where it is small, or who has it. */
struct gw_result {
    uint64_t bytes;
    const void *value; /* NULL: worker or token has it */
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
#define SOFT(name, ...) GW_FACT_##name,
#define F(kind, field)
    GW_FACT_none,
#include "scheduler/core/model/facts.def"
#undef F
#undef SOFT
#undef DURABLE
};

#define GW_FACT_KIND_U32 uint32_t
#define GW_FACT_KIND_U64 uint64_t
#define GW_FACT_KIND_I32 int32_t
#define GW_FACT_KIND_STR const char *
#define GW_FACT_KIND_BIN struct gw_bin
#define GW_FACT_KIND_CHARGES struct gw_charges
#define GW_FACT_KIND_RESULTS struct gw_results

/* at: the job that the fact names, resolved by whoever decided it (NULL: looked up by id). */
#define F(kind, field) GW_FACT_KIND_##kind field;
#define DURABLE(name, number, ...)                                                                 \
    struct gw_fact_##name {                                                                        \
        struct gw_job *at;                                                                         \
        __VA_ARGS__                                                                                \
    };                                                                                             \
    void gw_sched_apply_##name(struct gw_sched *sched, const struct gw_fact_##name *fact);
#define SOFT(name, ...)                                                                            \
    struct gw_fact_##name {                                                                        \
        __VA_ARGS__                                                                                \
    };                                                                                             \
    void gw_sched_apply_##name(struct gw_sched *sched, const struct gw_fact_##name *fact);
#include "scheduler/core/model/facts.def"
#undef SOFT
#undef DURABLE
#undef F

#define GW_FACT(sched, name, ...)                                                                  \
    do {                                                                                           \
        const struct gw_fact_##name gw_fact_ = {__VA_ARGS__};                                      \
        gw_sched_fact_log_##name((sched), &gw_fact_);                                              \
        gw_sched_apply_##name((sched), &gw_fact_);                                                 \
    } while (0)

/* gw_sched_fact_log_<name> appends a durable fact's bytes to the step's commit; a soft fact leaves
 * no bytes. */
#define F(kind, field)
#define SOFT(name, ...)                                                                            \
    static inline void gw_sched_fact_log_##name(struct gw_sched *sched,                            \
                                                const struct gw_fact_##name *fact)                 \
    {                                                                                              \
        (void)sched;                                                                               \
        (void)fact;                                                                                \
    }
#define DURABLE(name, number, ...)                                                                 \
    void gw_sched_fact_log_##name(struct gw_sched *sched, const struct gw_fact_##name *fact);
#include "scheduler/core/model/facts.def"
#undef SOFT
#undef DURABLE
#undef F

#endif
