/* Worker queues: a worker's attempts of one resource class, and their debits. Only for use in
 * model/. */
#ifndef GW_SCHEDULER_CORE_WORKER_QUEUE_H
#define GW_SCHEDULER_CORE_WORKER_QUEUE_H

#include "scheduler/core/model/state.h"

/* The properties of a new attempt. */
struct gw_attempt_new {
    struct gw_job *job;
    uint32_t index, rank;
    struct gw_worker *worker;
    struct gw_resource_class *shape;
    struct gw_gang_attempt *gang;
    bool prefetched, is_long, pipelined;
    uint8_t why;         /* enum gw_placed_why */
    uint64_t near_bytes; /* size of the inputs that the worker has */
    uint64_t id;         /* id of an earlier term; 0: a new id */
    bool adopted;        /* it runs already; gpus has gpu_count numbers */
    uint64_t ran_ns;     /* adopted: how long it has executed */
    bool ends_next;      /* it has ended already: the report of its end will follow */
    uint32_t gpu_count;
    const uint32_t *gpus; /* numbers of its GPUs; NULL: gpu.h picks them */
};

/* gw_sched_worker_queue_for finds or creates the worker queue of a worker for a resource class.
 * gw_sched_worker_queue_get only finds it, or returns NULL. */
struct gw_worker_queue *gw_sched_worker_queue_for(struct gw_worker *worker,
                                                  struct gw_resource_class *shape);
struct gw_worker_queue *gw_sched_worker_queue_get(const struct gw_worker *worker,
                                                  const struct gw_resource_class *shape);

struct gw_attempt_new;

/* gw_sched_worker_queue_enter adds an attempt, with a debit unless it is prefetched (how: the
 * properties of the attempt). gw_sched_worker_queue_leave removes it, and gives back its debit if
 * no other attempt takes the debit over. */
void gw_sched_worker_queue_enter(struct gw_sched *sched, struct gw_worker_queue *lane,
                                 const struct gw_attempt *attempt,
                                 const struct gw_attempt_new *how);
void gw_sched_worker_queue_leave(struct gw_sched *sched, struct gw_worker_queue *lane,
                                 const struct gw_attempt *attempt);

/* gw_sched_worker_queue_lend yields the slots of an attempt that waits for other tasks, and counts
 * the attempt as long from now on. gw_sched_worker_queue_reclaim takes the slots again, even if
 * none is free. */
void gw_sched_worker_queue_lend(struct gw_sched *sched, struct gw_worker_queue *lane, bool is_long);
void gw_sched_worker_queue_reclaim(struct gw_sched *sched, struct gw_worker_queue *lane);

/* gw_sched_worker_queue_step maps a number of tasks for each slot to a scale of
 * GW_WORKER_QUEUE_LOADS steps: exact below 8, then four steps for each doubling.
 * gw_sched_worker_queue_step_tasks returns the smallest number of a step. Prefetch windows are such
 * numbers, so that the step of a worker queue alone tells whether it is full. */
uint32_t gw_sched_worker_queue_step(uint32_t tasks);
uint32_t gw_sched_worker_queue_step_tasks(uint32_t step);

/* gw_sched_worker_queue_load returns the step for the number of short attempts that share a debit.
 * The worker queue must have such a debit. */
uint32_t gw_sched_worker_queue_load(const struct gw_worker_queue *lane);

/* gw_sched_worker_queue_room returns how many more tasks may queue, with `window` tasks for each
 * slot. It returns 0 if the worker's free slots are kept for a reservation. */
uint32_t gw_sched_worker_queue_room(const struct gw_worker_queue *lane, uint32_t window);

/* gw_sched_worker_queue_idle returns the number of unused debits. They are kept for pipelined
 * attempts that wait for other tasks. */
static inline uint32_t gw_sched_worker_queue_idle(const struct gw_worker_queue *lane)
{
    uint32_t used = lane->attempts - lane->pipelined;
    return lane->debits > used ? lane->debits - used : 0;
}

/* gw_sched_worker_queue_completed: a pipelined attempt has all its inputs now. */
void gw_sched_worker_queue_completed(struct gw_sched *sched, struct gw_worker_queue *lane);

/* gw_sched_worker_open returns how many free slots of a worker are not kept for reserved ranks.
 * gw_sched_worker_drains returns true if the worker has fewer free slots than its reserved ranks
 * need. */
static inline uint32_t gw_sched_worker_open(const struct gw_worker *worker)
{
    return worker->slots_free > worker->reserved_slots ? worker->slots_free - worker->reserved_slots
                                                       : 0;
}

static inline bool gw_sched_worker_drains(const struct gw_worker *worker)
{
    return worker->slots_free < worker->reserved_slots;
}

/* gw_sched_worker_queue_link adds a ready worker to the list of workers with the same number of
 * open slots. gw_sched_worker_queue_unlink removes it. */
void gw_sched_worker_queue_link(struct gw_sched *sched, struct gw_worker *worker);
void gw_sched_worker_queue_unlink(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_worker_queue_debit debits what one task of a worker queue needs of its worker. */
void gw_sched_worker_queue_debit(struct gw_sched *sched, struct gw_worker_queue *lane);

/* gw_sched_worker_queue_rings_update moves a worker queue to the rings where it belongs now: those
 * with room, with queued tasks, and with idle debits. */
void gw_sched_worker_queue_rings_update(struct gw_sched *sched, struct gw_worker_queue *lane);

/* gw_sched_worker_queue_lost is called when the worker is lost. gw_sched_worker_queue_may_run then
 * returns true for the first short attempts, as many as there are debits: they may have been
 * running. */
static inline void gw_sched_worker_queue_lost(struct gw_worker_queue *lane)
{
    lane->may_run = lane->debits;
}

static inline bool gw_sched_worker_queue_may_run(struct gw_worker_queue *lane)
{
    return lane->may_run > 0 && lane->may_run-- > 0;
}

/* gw_sched_worker_queue_reserve sets how many ranks of a reservation are at a worker, and moves the
 * worker to the list for its new number of open slots. */
void gw_sched_worker_queue_reserve(struct gw_sched *sched, struct gw_worker *worker,
                                   uint32_t number, uint32_t ranks);

/* gw_sched_worker_queue_ask records that the worker was asked to return the pipelined tasks of a
 * worker queue. gw_sched_worker_queue_turn and gw_sched_worker_queue_turn_queued make the next
 * worker queue the first of its list, so that each queue has its turn: among those with room, and
 * among those of a class with more attempts than debits. gw_sched_worker_queue_reserve_for records
 * which gang or task has a reservation. */
void gw_sched_worker_queue_turn_queued(struct gw_resource_class *shape, bool barren);
void gw_sched_worker_queue_reserve_for(struct gw_sched *sched, uint32_t number,
                                       struct gw_queue *queue,
                                       const struct gw_reserved_rank *reserved_ranks,
                                       uint32_t count);
void gw_sched_worker_queue_turn(struct gw_worker_queue *lane);
void gw_sched_worker_queue_ask(struct gw_worker_queue *lane);

#endif
