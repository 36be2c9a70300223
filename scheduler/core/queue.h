/* Shapes (what a task needs) and the queues of ready tasks. Called by apply functions. */
#ifndef GW_SCHEDULER_CORE_QUEUE_H
#define GW_SCHEDULER_CORE_QUEUE_H

#include "scheduler/core/state.h"

/* gw_sched_shape_for finds or makes the shape that equals `key` in what a task needs. */
struct gw_shape *gw_sched_shape_for(struct gw_sched *sched, const struct gw_shape *key);

/* gw_sched_shape_gpus is how many GPUs a rank gets as the cluster is now; gw_sched_shape_update
 * finds that out, and of which kind, of a shape; gw_sched_shapes_update follows a change of the
 * cluster. */
uint32_t gw_sched_shape_gpus(const struct gw_shape *shape);
void gw_sched_shape_update(const struct gw_sched *sched, struct gw_shape *shape);
void gw_sched_shapes_update(struct gw_sched *sched);

/* gw_sched_queue_for finds or makes the queue of a job for a shape and a priority. */
struct gw_queue *gw_sched_queue_for(struct gw_sched *sched, struct gw_job *job,
                                    struct gw_shape *shape, int32_t priority);

/* gw_sched_queue_add and gw_sched_queue_remove put a row in, and take it out. */
void gw_sched_queue_add(struct gw_sched *sched, struct gw_queue *queue, uint32_t row);
void gw_sched_queue_remove(struct gw_sched *sched, struct gw_queue *queue, uint32_t row);

/* gw_sched_queue_free frees a queue, whatever is in it. */
void gw_sched_queue_free(struct gw_sched *sched, struct gw_queue *queue);

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

/* gw_sched_queue_hold takes the queue of a job that is paused out of all order; gw_sched_queue_let
 * puts it back. */
void gw_sched_queue_hold(struct gw_sched *sched, struct gw_queue *queue);
void gw_sched_queue_let(struct gw_sched *sched, struct gw_queue *queue);

/* gw_sched_queue_top gives the queue whose first row comes before all of the shape, NULL: none. */
struct gw_queue *gw_sched_queue_top(struct gw_shape *shape);

/* gw_sched_queue_before tells whether a's first row comes before b's. */
bool gw_sched_queue_before(const struct gw_queue *a, const struct gw_queue *b);

void gw_sched_shape_free(struct gw_sched *sched, struct gw_shape *shape);

/* gw_sched_job_rests tells whether none of a job's queues is to be in a heap. */
static inline bool gw_sched_job_rests(const struct gw_job *job)
{
    return job->paused || job->awaits;
}

#endif
