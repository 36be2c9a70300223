/* Ageing of waiting gangs.
 *
 * Invariant: all non-empty queues of gangs, except those of paused jobs, are in one list, ordered
 * by the time when they rise. All periods have the same length, so a queue is always appended at
 * the end. When a gang is placed, its gained priority is lost, and the next gang of the queue
 * begins to wait. */
#include "scheduler/core/model/workers/ageing.h"

#include "scheduler/core/model/workers/gang_size.h"
#include "scheduler/core/model/workers/queue.h"

#include <assert.h>

static void append(struct gw_sched *sched, struct gw_queue *queue)
{
    queue->ages_ns = sched->now_ns + sched->options.ageing_ns;
    queue->age_prev = sched->ageing_last;
    queue->age_next = NULL;
    if (queue->age_prev)
        queue->age_prev->age_next = queue;
    else
        sched->ageing = queue;
    sched->ageing_last = queue;
}

static void leave(struct gw_sched *sched, struct gw_queue *queue)
{
    if (queue->age_prev)
        queue->age_prev->age_next = queue->age_next;
    else
        sched->ageing = queue->age_next;
    if (queue->age_next)
        queue->age_next->age_prev = queue->age_prev;
    else
        sched->ageing_last = queue->age_prev;
    queue->ages_ns = 0;
}

static void set_aged(struct gw_queue *queue, uint32_t aged)
{
    if (queue->aged == aged)
        return;
    queue->aged = aged;
    gw_sched_queue_resift(queue);
}

void gw_sched_ageing_begin(struct gw_sched *sched, struct gw_queue *queue)
{
    if (queue->shape->ranks == 0 || queue->ages_ns)
        return;
    append(sched, queue);
    gw_sched_gang_size_wait(sched, queue);
}

void gw_sched_ageing_end(struct gw_sched *sched, struct gw_queue *queue)
{
    if (!queue->ages_ns)
        return;
    leave(sched, queue);
    set_aged(queue, 0);
}

void gw_sched_ageing_again(struct gw_sched *sched, struct gw_queue *queue)
{
    if (!queue->ages_ns)
        return;
    leave(sched, queue);
    append(sched, queue);
    set_aged(queue, 0);
    gw_sched_gang_size_wait(sched, queue);
}

void gw_sched_ageing_on_tick(struct gw_sched *sched)
{
    while (sched->ageing && sched->ageing->ages_ns <= sched->now_ns) {
        struct gw_queue *queue = sched->ageing;
        leave(sched, queue);
        append(sched, queue);
        if (queue->aged < GW_AGED_MAX)
            set_aged(queue, queue->aged + 1);
        queue->shape->blocked = false; /* this gang may be first now and get the reservation */
    }
}

uint64_t gw_sched_ageing_deadline_ns(const struct gw_sched *sched)
{
    return sched->ageing ? sched->ageing->ages_ns : UINT64_MAX;
}

void gw_sched_ageing_check(const struct gw_sched *sched)
{
    size_t listed = 0, waiting = 0;
    for (const struct gw_queue *queue = sched->ageing; queue; queue = queue->age_next) {
        assert(queue->shape->ranks > 0 && queue->ready.count > 0 && queue->ages_ns);
        assert(!queue->age_next || queue->age_next->ages_ns >= queue->ages_ns);
        listed++;
    }
    for (const struct gw_job *job = sched->first_job; job; job = job->next)
        for (size_t i = 0; i < job->queues.count; i++)
            waiting += !gw_sched_job_rests(job) && job->queues.items[i]->shape->ranks > 0 &&
                       job->queues.items[i]->ready.count > 0;
    assert(listed == waiting);
}
