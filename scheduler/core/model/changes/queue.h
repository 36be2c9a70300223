/* Rows enter and leave queues; resource classes come and go. */
#ifndef GW_SCHEDULER_CORE_CHANGES_QUEUE_H
#define GW_SCHEDULER_CORE_CHANGES_QUEUE_H

#include "scheduler/core/model/state.h"

/* gw_sched_queue_class_for finds or makes the shape that equals `key` in what a task needs. */
struct gw_shape *gw_sched_queue_class_for(struct gw_sched *sched, const struct gw_shape *key);

/* gw_sched_queue_class_update finds out what the cluster, if empty, could give a shape: one GPU or
 * none to a rank that takes either; whole GPUs or MIG instances to a gang.
 * gw_sched_queue_classes_update does so for all shapes. */
void gw_sched_queue_class_update(const struct gw_sched *sched, struct gw_shape *shape);
void gw_sched_queue_classes_update(struct gw_sched *sched);

/* gw_sched_queue_add and gw_sched_queue_remove put a row in, and take it out. */
void gw_sched_queue_add(struct gw_sched *sched, struct gw_queue *queue, uint32_t row);
void gw_sched_queue_remove(struct gw_sched *sched, struct gw_queue *queue, uint32_t row);

/* gw_sched_queue_free frees a queue, whatever is in it. */
void gw_sched_queue_free(struct gw_sched *sched, struct gw_queue *queue);

/* gw_sched_queue_hold takes the queue of a job that is paused out of all order; gw_sched_queue_let
 * puts it back. */
void gw_sched_queue_hold(struct gw_sched *sched, struct gw_queue *queue);
void gw_sched_queue_let(struct gw_sched *sched, struct gw_queue *queue);

/* gw_sched_queue_class_free frees a shape that no queue and no attempt uses, with its lanes at all
 * workers. */
void gw_sched_queue_class_free(struct gw_sched *sched, struct gw_shape *shape);

#endif
