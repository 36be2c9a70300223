/* Attempts: one task, or one rank of a gang, at one worker. Names are unique for ever. */
#ifndef GW_SCHEDULER_CORE_ATTEMPT_H
#define GW_SCHEDULER_CORE_ATTEMPT_H

#include "scheduler/core/state.h"

/* An id: 16 bits of the term, 24 of the place's generation, 24 of the place in the table. */
enum { GW_ATTEMPT_SLOT_BITS = 24, GW_ATTEMPT_GENERATION_BITS = 24 };

/* gw_sched_attempt_next is the id that the next attempt will have. */
uint64_t gw_sched_attempt_next(struct gw_sched *sched);

/* gw_sched_attempt_place is the place in the table that an id names. */
static inline uint32_t gw_sched_attempt_place(uint64_t id)
{
    return id & ((1u << GW_ATTEMPT_SLOT_BITS) - 1);
}

/* gw_sched_attempts_ahead asks for the memory of what the ends of a column are about to touch, some
 * rows behind `at`: the attempts, and nearer to `at` what their tasks come before. */
void gw_sched_attempts_ahead(const struct gw_sched *sched, const struct gw_col64 *ids, uint32_t at);

/* gw_sched_attempt_find gives the place of a live attempt by its id; GW_NONE for any other. */
uint32_t gw_sched_attempt_find(const struct gw_sched *sched, uint64_t id);

/* gw_sched_attempt_add makes one, debits what it needs and gives its place; for apply functions.
 */
struct gw_attempt_new {
    struct gw_job *job;
    uint32_t index, rank;
    struct gw_worker *worker;
    struct gw_shape *shape;
    struct gw_gang_try *gang;
    bool prefetched, is_long, handed;
    uint8_t why;         /* enum gw_placed_why */
    uint64_t near_bytes; /* of its inputs that are at the worker */
    uint64_t id;         /* of an earlier life; 0: the next of this one */
    bool adopted;        /* it runs already; gpus has gpu_count numbers */
    uint32_t gpu_count;
    const uint32_t *gpus; /* numbers of those that it gets; NULL: what gw_sched_gpu_pick gives */
};
uint32_t gw_sched_attempt_add(struct gw_sched *sched, const struct gw_attempt_new *options);

/* gw_sched_attempt_begin adds one that is to run a task by itself, and notes it with its task and
 * job: what placing and handing over have in common. */
uint32_t gw_sched_attempt_begin(struct gw_sched *sched, const struct gw_attempt_new *options);

/* gw_sched_attempts_deinit frees the table. */
void gw_sched_attempts_deinit(struct gw_sched *sched);

/* gw_sched_attempt_waits tells whether nobody said that it runs, or was told to end it. */
bool gw_sched_attempt_waits(const struct gw_attempt *attempt);

#endif
