/* Adds rows to and removes rows from ready queues, and creates and frees resource classes. */
#ifndef GW_SCHEDULER_CORE_CHANGES_QUEUE_H
#define GW_SCHEDULER_CORE_CHANGES_QUEUE_H

#include "scheduler/core/model/state.h"

/* gw_sched_queue_class_for finds or creates the resource class with the requirements of `key`. */
struct gw_shape *gw_sched_queue_class_for(struct gw_sched *sched, const struct gw_shape *key);

/* gw_sched_queue_class_update decides which GPUs an empty cluster could give to a resource class:
 * one GPU or none to a rank that accepts either, and whole GPUs or MIG instances to a gang.
 * gw_sched_queue_classes_update does this for all resource classes. */
void gw_sched_queue_class_update(const struct gw_sched *sched, struct gw_shape *shape);
void gw_sched_queue_classes_update(struct gw_sched *sched);

/* gw_sched_queue_add adds a row to a queue. gw_sched_queue_remove removes it. */
void gw_sched_queue_add(struct gw_sched *sched, struct gw_queue *queue, uint32_t row);
void gw_sched_queue_remove(struct gw_sched *sched, struct gw_queue *queue, uint32_t row);

/* gw_sched_queue_free frees a queue, also if it is not empty. */
void gw_sched_queue_free(struct gw_sched *sched, struct gw_queue *queue);

/* gw_sched_queue_hold excludes the queue of a paused job from placement. gw_sched_queue_let
 * includes it again. */
void gw_sched_queue_hold(struct gw_sched *sched, struct gw_queue *queue);
void gw_sched_queue_let(struct gw_sched *sched, struct gw_queue *queue);

/* gw_sched_queue_class_free frees a resource class without queues and attempts, and its worker
 * queues. */
void gw_sched_queue_class_free(struct gw_sched *sched, struct gw_shape *shape);

#endif
