/* Resource classes (what a task needs) and the queues of ready tasks. Only for use in model/. */
#ifndef GW_SCHEDULER_CORE_WORKERS_QUEUE_H
#define GW_SCHEDULER_CORE_WORKERS_QUEUE_H

#include "scheduler/core/model/account.h"
#include "scheduler/core/model/state.h"

/* gw_sched_queue_class_gpus returns how many GPUs a rank gets in the present cluster. */
uint32_t gw_sched_queue_class_gpus(const struct gw_resource_class *shape);

/* gw_sched_queue_class_slotless returns true for tasks without a slot. */
static inline bool gw_sched_queue_class_slotless(const struct gw_resource_class *shape)
{
    return shape->slots == 0 && !shape->calls;
}

/* gw_sched_queue_for finds or creates the ready queue of a job for a resource class and a priority.
 */
struct gw_queue *gw_sched_queue_for(struct gw_sched *sched, struct gw_job *job,
                                    struct gw_resource_class *shape, int32_t priority);

/* gw_sched_queue_resift moves a queue in its heap after its level changed (ageing.h). */
void gw_sched_queue_resift(struct gw_queue *queue);

/* gw_sched_queues_review_quotas decides again how the first tasks of all queues stand to their
 * quotas, and returns true if that changed. Afterwards the caller calls gw_sched_queues_reorder,
 * which restores the order of the groups of all classes. gw_sched_queues_regroup does both, and
 * puts all queues into their groups again, because the payers of their jobs have changed. */
bool gw_sched_queues_review_quotas(struct gw_sched *sched);
void gw_sched_queues_reorder(struct gw_sched *sched);
void gw_sched_queues_regroup(struct gw_sched *sched);

/* gw_sched_queue_quota returns how the first task of a queue stands to its quotas. */
static inline enum gw_quota gw_sched_queue_quota(const struct gw_queue *queue)
{
    return queue->group ? queue->group->quota : queue->quota;
}

/* gw_sched_queue_nested returns the first queue with ready tasks whose job was submitted by a task,
 * or NULL. If the class has such a job, it looks at all queues with such jobs; without a policy, at
 * all queues of the class. */
struct gw_queue *gw_sched_queue_nested(struct gw_resource_class *shape);

/* gw_sched_queue_park removes the top queue of a heap from it, because no worker has memory for its
 * first task, or it waits for other tasks of its range. Returns false if GW_PARKED_MAX queues are
 * parked already. Then the queues behind it must wait, too. gw_sched_queue_unpark puts the parked
 * queues of a class back. */
bool gw_sched_queue_park(struct gw_queue *queue);
void gw_sched_queue_unpark(struct gw_resource_class *shape);

/* gw_sched_queue_top returns the queue with the task that comes first among all ready tasks of a
 * resource class, or NULL. */
struct gw_queue *gw_sched_queue_top(struct gw_resource_class *shape);

/* gw_sched_queue_before returns true if the first row of a comes before the first row of b. */
bool gw_sched_queue_before(const struct gw_queue *a, const struct gw_queue *b);

/* What the order depends on besides the job. With a payer: how the queue stands to its quotas, its
 * own priority, and the rank of the payer. Without: gw_sched_ageing_level. */
struct gw_queue_key {
    int64_t level;
    enum gw_quota quota;
    uint32_t rank;
};

/* gw_sched_queue_less returns true if queue a comes before queue b if they stand so. */
bool gw_sched_queue_less(const struct gw_queue *a, struct gw_queue_key of_a,
                         const struct gw_queue *b, struct gw_queue_key of_b);

/* gw_sched_queue_over_quota returns true if the first task of a queue must wait for other tasks of
 * its account or queue. */
static inline bool gw_sched_queue_over_quota(const struct gw_queue *queue)
{
    return gw_sched_queue_quota(queue) == GW_QUOTA_EXCEEDED;
}

/* gw_sched_job_rests returns true if no queue of the job may be in a heap. */
static inline bool gw_sched_job_rests(const struct gw_job *job)
{
    return job->paused || job->awaits;
}

/* gw_sched_queue_heap_push adds a queue to a group of its resource class.
 * gw_sched_queue_heap_remove removes it from there. gw_sched_queue_groups_deinit frees the groups
 * of a class without queues. */
void gw_sched_queue_heap_push(struct gw_queue *queue);
void gw_sched_queue_heap_remove(struct gw_queue *queue);
void gw_sched_queue_groups_deinit(struct gw_resource_class *shape);

/* gw_sched_ageing_level returns the present priority of a queue: its own priority, plus 1 after a
 * gang's first period of waiting, plus 3 after the second, then 7, 15, ... */
static inline int64_t gw_sched_ageing_level(const struct gw_queue *queue)
{
    return queue->priority + (INT64_C(1) << queue->aged) - 1;
}

/* gw_sched_queue_block marks a class none of whose tasks can be placed until something is freed.
 * gw_sched_queues_unblock allows all classes to be tried again. gw_sched_queue_part marks a class
 * that is blocked by pairs of workers that cannot reach each other. */
void gw_sched_queue_block(struct gw_resource_class *shape);
void gw_sched_queues_unblock(struct gw_sched *sched);
void gw_sched_queue_part(struct gw_resource_class *shape, bool parted);

#endif
