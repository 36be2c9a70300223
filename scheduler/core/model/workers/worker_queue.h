/* Lanes: a worker's attempts of one shape, and what is debited for them. Called by apply functions.
 */
#ifndef GW_SCHEDULER_CORE_WORKER_QUEUE_H
#define GW_SCHEDULER_CORE_WORKER_QUEUE_H

#include "scheduler/core/model/state.h"

/* What an attempt is made of. */
struct gw_attempt_new {
    struct gw_job *job;
    uint32_t index, rank;
    struct gw_worker *worker;
    struct gw_shape *shape;
    struct gw_gang_attempt *gang;
    bool prefetched, is_long, pipelined;
    uint8_t why;         /* enum gw_placed_why */
    uint64_t near_bytes; /* of its inputs that are at the worker */
    uint64_t id;         /* of an earlier life; 0: the next of this one */
    bool adopted;        /* it runs already; gpus has gpu_count numbers */
    bool ends_next;      /* it ended already: how is told next */
    uint32_t gpu_count;
    const uint32_t *gpus; /* numbers of those that it gets; NULL: what gpu.h picks */
};

/* gw_sched_worker_queue_for finds or makes a worker's lane of a shape; gw_sched_worker_queue_get
 * only finds. */
struct gw_worker_queue *gw_sched_worker_queue_for(struct gw_worker *worker, struct gw_shape *shape);
struct gw_worker_queue *gw_sched_worker_queue_get(const struct gw_worker *worker,
                                                  const struct gw_shape *shape);

struct gw_attempt_new;

/* gw_sched_worker_queue_enter counts an attempt in, with a debit unless it is prefetched (how: what
 * it was made of); gw_sched_worker_queue_leave counts it out and gives back the debit that nobody
 * inherits. */
void gw_sched_worker_queue_enter(struct gw_sched *sched, struct gw_worker_queue *lane,
                                 const struct gw_attempt *attempt,
                                 const struct gw_attempt_new *how);
void gw_sched_worker_queue_leave(struct gw_sched *sched, struct gw_worker_queue *lane,
                                 const struct gw_attempt *attempt);

/* gw_sched_worker_queue_lend gives back the slots of an attempt that waits for others, which counts
 * as a long one from now on; gw_sched_worker_queue_reclaim takes them again, also where none are
 * free. */
void gw_sched_worker_queue_lend(struct gw_sched *sched, struct gw_worker_queue *lane, bool is_long);
void gw_sched_worker_queue_reclaim(struct gw_sched *sched, struct gw_worker_queue *lane);

/* gw_sched_worker_queue_step puts a number of tasks to a slot on a scale of GW_WORKER_QUEUE_LOADS:
 * exact below 8, then four steps each time it doubles. gw_sched_worker_queue_step_tasks is the
 * smallest number of a step; windows are such, so that a lane's step alone tells whether it is
 * full. */
uint32_t gw_sched_worker_queue_step(uint32_t tasks);
uint32_t gw_sched_worker_queue_step_tasks(uint32_t step);

/* gw_sched_worker_queue_load is the step of how many short attempts of a lane share a debit. The
 * lane must have such a debit. */
uint32_t gw_sched_worker_queue_load(const struct gw_worker_queue *lane);

/* gw_sched_worker_queue_room is how many more tasks may queue in a lane, `window` to a slot; none
 * at a worker that drains. */
uint32_t gw_sched_worker_queue_room(const struct gw_worker_queue *lane, uint32_t window);

/* gw_sched_worker_queue_idle is how many debits of a lane nothing uses: they are kept for attempts
 * that were handed over and wait for others. */
static inline uint32_t gw_sched_worker_queue_idle(const struct gw_worker_queue *lane)
{
    uint32_t used = lane->attempts - lane->pipelined;
    return lane->debits > used ? lane->debits - used : 0;
}

/* gw_sched_worker_queue_completed: an attempt that was handed over waits for others no more. */
void gw_sched_worker_queue_completed(struct gw_sched *sched, struct gw_worker_queue *lane);

/* gw_sched_worker_open is how many free slots of a worker are not kept for the ranks that are
 * reserved there. gw_sched_worker_drains: it has not as many as those need yet. */
static inline uint32_t gw_sched_worker_open(const struct gw_worker *worker)
{
    return worker->slots_free > worker->reserved_slots ? worker->slots_free - worker->reserved_slots
                                                       : 0;
}

static inline bool gw_sched_worker_drains(const struct gw_worker *worker)
{
    return worker->slots_free < worker->reserved_slots;
}

/* gw_sched_worker_queue_link and gw_sched_worker_queue_unlink put a ready worker among those with
 * as many open slots, and take it out. */
void gw_sched_worker_queue_link(struct gw_sched *sched, struct gw_worker *worker);
void gw_sched_worker_queue_unlink(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_worker_queue_debit debits what one task of a lane needs of its worker. */
void gw_sched_worker_queue_debit(struct gw_sched *sched, struct gw_worker_queue *lane);

/* gw_sched_worker_queue_rings_update puts a lane into the lists of its shape where it belongs now:
 * those with room, with queued tasks, with idle debits. */
void gw_sched_worker_queue_rings_update(struct gw_sched *sched, struct gw_worker_queue *lane);

/* gw_sched_worker_queue_lost: the worker is lost. gw_sched_worker_queue_may_run tells whether the
 * next of its short attempts may have been running: as many as there are debits. */
static inline void gw_sched_worker_queue_lost(struct gw_worker_queue *lane)
{
    lane->may_run = lane->debits;
}

static inline bool gw_sched_worker_queue_may_run(struct gw_worker_queue *lane)
{
    return lane->may_run > 0 && lane->may_run-- > 0;
}

/* gw_sched_worker_queue_reserve reserves ranks of so many slots at a worker, in place of what was
 * reserved there, and puts the worker among those with as many open slots. */
void gw_sched_worker_queue_reserve(struct gw_sched *sched, struct gw_worker *worker, uint32_t ranks,
                                   uint32_t slots);

#endif
