/* Shapes (what a task needs) and the queues of ready tasks. Called by apply functions. */
#ifndef GW_SCHEDULER_CORE_WORKERS_QUEUE_H
#define GW_SCHEDULER_CORE_WORKERS_QUEUE_H

#include "scheduler/core/model/state.h"

/* gw_sched_queue_class_gpus is how many GPUs a rank gets as the cluster is now. */
uint32_t gw_sched_queue_class_gpus(const struct gw_shape *shape);

/* gw_sched_queue_for finds or makes the queue of a job for a shape and a priority. */
struct gw_queue *gw_sched_queue_for(struct gw_sched *sched, struct gw_job *job,
                                    struct gw_shape *shape, int32_t priority);

/* gw_sched_queue_resift finds its place in the heap again: it has another level (ageing.h). */
void gw_sched_queue_resift(struct gw_queue *queue);

/* gw_sched_queue_nested is the first queue with ready tasks of a job that a task submitted; NULL:
 * there is none. Looks at all queues of a shape that has such a job. */
struct gw_queue *gw_sched_queue_nested(struct gw_shape *shape);

/* gw_sched_queue_park takes a queue, the top of its shape's heap, out of it: nobody has memory for
 * its first, or it waits for others of its range. false where GW_PARKED_MAX are out already: what
 * comes behind them waits. gw_sched_queue_unpark puts a shape's parked queues back. */
bool gw_sched_queue_park(struct gw_queue *queue);
void gw_sched_queue_unpark(struct gw_shape *shape);

/* gw_sched_queue_top gives the queue whose first row comes before all of the shape, NULL: none. */
struct gw_queue *gw_sched_queue_top(struct gw_shape *shape);

/* gw_sched_queue_before tells whether a's first row comes before b's. */
bool gw_sched_queue_before(const struct gw_queue *a, const struct gw_queue *b);

/* gw_sched_job_rests tells whether none of a job's queues is to be in a heap. */
static inline bool gw_sched_job_rests(const struct gw_job *job)
{
    return job->paused || job->awaits;
}

/* gw_sched_queue_heap_push puts a queue into the heap of its shape. */
void gw_sched_queue_heap_push(struct gw_queue *queue);

/* gw_sched_queue_heap_remove takes the queue at an index out of the heap of a shape. */
void gw_sched_queue_heap_remove(struct gw_shape *shape, uint32_t at);

/* gw_sched_ageing_level is the priority that a queue has by now: its own, and for gangs 1 more
 * after the first period of waiting, 3 after the second, 7, 15, ... */
static inline int64_t gw_sched_ageing_level(const struct gw_queue *queue)
{
    return queue->priority + (INT64_C(1) << queue->aged) - 1;
}

/* gw_sched_queue_block: nothing of a shape can be placed until something is freed, when
 * gw_sched_queues_unblock lets all be tried again. gw_sched_queue_part: what blocks it are pairs of
 * workers that cannot reach each other. */
void gw_sched_queue_block(struct gw_shape *shape);
void gw_sched_queues_unblock(struct gw_sched *sched);
void gw_sched_queue_part(struct gw_shape *shape, bool parted);

#endif
