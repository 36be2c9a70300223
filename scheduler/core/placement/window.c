/* How many tasks may queue at a worker, and which worker has the most room. */

#include "scheduler/core/placement/window.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/reservation_guard.h"

/* With accounts, the task of another user may come first in the order, but it starts behind the
 * tasks that are prefetched already. */
static uint64_t target_ns(const struct gw_sched *sched)
{
    return sched->accounts && sched->accounts->payers.count > 1 ? GW_WINDOW_SHARED_NS
                                                                : GW_WINDOW_TARGET_NS;
}

/* A task that needs GPUs, named resources or a given amount of memory never queues behind another
 * task. Reason: a worker begins a queued task as soon as a slot is free, also the slot of a task
 * that waits for other tasks. No GPU, named resource or memory is reserved for a queued task. */
static uint32_t window_of(const struct gw_sched *sched, const struct gw_spec *spec)
{
    if (spec->message.ranks > 0 || spec->message.actor || spec->message.gpus > 0 ||
        spec->message.gpu_mode == GW_GPU_MODE_IF_ANY || spec->samples == 0 ||
        spec->message.memory_bytes > 0 || (spec->message.resources && *spec->message.resources))
        return 1;
    if (gw_account_limited(spec->queue->job)) /* all of its work counts, see account.h */
        return 1;
    /* A queued task would start as soon as a slot is free, even if its named resource is in use. */
    if (spec->shape->need && spec->shape->need->resources.count > 0)
        return 1;
    uint64_t window = target_ns(sched) / (spec->mean_ns + 1);
    uint64_t most = sched->options.window ? sched->options.window : GW_WINDOW_MAX;
    if (most > GW_WINDOWS_MAX / (sched->slots + 1u))
        most = GW_WINDOWS_MAX / (sched->slots + 1u);
    window = window > most ? most : window;
    window = window > spec->samples + 1u ? spec->samples + 1u : window;
    return window < 1
               ? 1
               : gw_sched_worker_queue_step_tasks(gw_sched_worker_queue_step((uint32_t)window));
}

uint32_t gw_sched_window(const struct gw_sched *sched, struct gw_spec *spec)
{
    /* The result is cached, because one placement may ask for it hundreds of times. */
    if (spec->window && spec->window_samples == spec->samples &&
        spec->window_slots == sched->slots && spec->samples < UINT32_MAX)
        return spec->window;
    return gw_sched_task_set_window(sched, spec, window_of(sched, spec));
}

bool gw_sched_window_takes(const struct gw_sched *sched, const struct gw_worker *worker, void *arg)
{
    struct gw_choice *choice = arg;
    if (worker->id == choice->avoided || !gw_sched_worker_fits(sched, worker, choice->shape) ||
        (choice->instance && !gw_sched_gpu_has_instance(worker, choice->shape)))
        return false;
    if ((worker->reserved & choice->restricts) &&
        !gw_sched_reservation_guard_leaves(sched, worker, choice->shape, choice->restricts))
        return false;
    if (gw_sched_memory_admits(worker, choice->bytes, choice->held_back))
        return true;
    choice->unaffording++;
    return false;
}

/* Searches the workers by their number of free slots, the most free slots first. The search ends
 * after GW_UNAFFORDING_MAX workers that lack only memory: it is repeated when one of their tasks
 * ends. */
struct gw_worker *gw_sched_window_choose(struct gw_sched *sched, struct gw_choice *choice)
{
    const struct gw_resource_class *shape = choice->shape;
    if (sched->by_free.count == 0)
        return NULL;
    for (uint32_t slots = gw_sched_worker_free_max(sched); slots >= shape->slots && slots > 0;
         slots--)
        for (struct gw_worker *worker = sched->by_free.items[slots]; worker; worker = worker->next)
            if (gw_sched_window_takes(sched, worker, choice))
                return worker;
            else if (choice->unaffording >= GW_UNAFFORDING_MAX)
                return NULL;
    GW_EACH_RESERVATION (number, sched->reserved & ~choice->restricts)
        for (size_t i = 0; i < sched->reservations[number].reserved_ranks.count; i++) {
            struct gw_worker *worker = sched->reservations[number].reserved_ranks.items[i].worker;
            if (gw_sched_window_takes(sched, worker, choice))
                return worker;
        }
    return NULL;
}

struct gw_worker *gw_sched_window_most_free(struct gw_sched *sched, struct gw_resource_class *shape)
{
    struct gw_choice choice = {.shape = shape, .restricts = sched->reserved};
    return gw_sched_window_choose(sched, &choice);
}

bool gw_sched_window_held_back(const struct gw_queue *queue, uint32_t row)
{
    if (gw_bits_test(&queue->fed, row))
        return false;
    for (size_t i = 0; i < queue->job->queues.count; i++)
        if (queue->job->queues.items[i]->fed.count)
            return true;
    return false;
}
