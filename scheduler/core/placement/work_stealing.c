/* Work stealing.
 *
 * Tasks queue at a worker if every slot was busy when they were placed. If a slot becomes idle and
 * no task is ready for it, the scheduler asks a worker to return half of the tasks of one queue
 * that no process has begun (GW_KILL_TAKE_BACK). The returned tasks become ready again. Tasks that
 * the worker does not return run there. In both cases the attempt ends, and the recall with it. For
 * each resource class, no more tasks are being recalled than the free slots can take. A queue that
 * had nothing to return is not searched again before one of its tasks was added or ended. */
#include "scheduler/core/placement/work_stealing.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/window.h"
#include "scheduler/core/send/outbox.h"

enum { QUEUES_MAX = 4 /* most queues searched for one resource class in one step */ };

/* A recall takes about as long as a round trip between two processes. Tasks that would be done
 * sooner are not recalled. */
#define RECALL_WORTH_NS (100 * GW_NS_PER_US)

static void add_bytes(struct gw_sched *sched, uint32_t at, void *arg)
{
    const struct gw_object *object = &sched->objects.items[at];
    uint64_t *bytes = arg;
    if (!gw_sched_object_value(object))
        *bytes += object->bytes;
}

/* Estimates the time for fetching the inputs of an attempt at another worker, at 1 GB/s: one
 * nanosecond a byte. */
static uint64_t fetch_ns(struct gw_sched *sched, const struct gw_attempt *attempt)
{
    uint64_t bytes = 0;
    gw_sched_object_each_input(sched, attempt->job, attempt->index,
                               &(struct gw_input_visit){add_bytes, &bytes});
    return bytes;
}

/* Asks a worker to return the youngest half of the tasks in one of its queues. Returns false if
 * there was no task to ask for. */
static bool recall(struct gw_sched *sched, const struct gw_worker_queue *lane)
{
    struct gw_worker *worker = lane->worker;
    uint32_t before = lane->recalled;
    uint32_t queued = lane->attempts - lane->debits - lane->recalled, wanted = (queued + 1) / 2;
    uint64_t wait_ns = 0;
    for (uint32_t slot = worker->last; slot != GW_NO_INDEX && wanted > 0;) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        uint32_t prev = attempt->prev;
        const struct gw_job *job = attempt->job;
        /* Only placed tasks are recalled. Pipelined tasks stay with the tasks that make their
         * inputs. */
        if (attempt->lane == lane && attempt->state == GW_ATTEMPT_SENT && !attempt->is_long &&
            job->tasks.state[attempt->index] == GW_TASK_PLACED) {
            wait_ns = queued * job->specs.items[job->tasks.spec[attempt->index]].mean_ns;
            if (wait_ns < RECALL_WORTH_NS)
                break;
            wanted--;
            if (fetch_ns(sched, attempt) < wait_ns) {
                gw_sched_attempt_recall(sched, slot);
                gw_sched_outbox_kill(
                    sched, worker,
                    &(struct gw_kill_row){sched->attempts.items[slot].id, 0, GW_KILL_TAKE_BACK});
            }
        }
        slot = prev;
    }
    return lane->recalled > before;
}

void gw_sched_work_stealing_recall_queued(struct gw_sched *sched, struct gw_worker *worker)
{
    for (uint32_t slot = worker->last; slot != GW_NO_INDEX;) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        const struct gw_worker_queue *lane = attempt->lane;
        if (attempt->state == GW_ATTEMPT_SENT && !attempt->is_long && !attempt->pipelined &&
            attempt->job->tasks.state[attempt->index] == GW_TASK_PLACED &&
            lane->attempts > lane->debits + lane->recalled) {
            gw_sched_attempt_recall(sched, slot);
            gw_sched_outbox_kill(sched, worker,
                                 &(struct gw_kill_row){attempt->id, 0, GW_KILL_TAKE_BACK});
        }
        slot = sched->attempts.items[slot].prev;
    }
}

void gw_sched_work_stealing(struct gw_sched *sched)
{
    if (sched->slots_free == 0)
        return;
    for (size_t i = 0; i < sched->shapes.count; i++) {
        struct gw_resource_class *shape = sched->shapes.items[i];
        if (!shape || !shape->queued || shape->recalled >= sched->slots_free ||
            gw_sched_queue_top(shape))
            continue;
        const struct gw_worker *idle = gw_sched_window_most_free(sched, shape);
        for (int tries = 0; idle && tries < QUEUES_MAX && shape->recalled < sched->slots_free;
             tries++) {
            const struct gw_worker_queue *lane = shape->queued;
            bool may = lane->worker != idle && !lane->barren &&
                       lane->attempts > lane->debits + lane->recalled;
            bool barren = may && !recall(sched, lane);
            gw_sched_worker_queue_turn_queued(shape, barren);
        }
    }
}
