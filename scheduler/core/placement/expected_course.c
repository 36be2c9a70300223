/* The course of time in which waiting work is expected to start. */
#include "scheduler/core/placement/expected_course.h"

#include "graph/base/heap.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/forecast.h"

#include <stdlib.h>

static bool is_due_before(struct gw_expected_due a, struct gw_expected_due b)
{
    return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.end < b.end;
}

static void due_set(struct gw_expected_due *items, size_t at, struct gw_expected_due due)
{
    items[at] = due;
}

GW_HEAP(dues, struct gw_expected_due, is_due_before, due_set)

/* -- What ends ----------------------------------------------------------------------------------
 */

static void move(struct gw_expected_course *course, struct gw_expected_end *ending, bool take)
{
    struct gw_worker *copy = &course->copies[ending->copy];
    course->slots_free -= copy->slots_free;
    course->gpus_free -= copy->gpus_free;
    ending->holding.gpus = course->numbers.items + ending->gpus_at;
    if (take)
        gw_worker_copy_take(copy, &ending->holding);
    else
        gw_worker_copy_give(copy, &ending->holding);
    course->slots_free += copy->slots_free;
    course->gpus_free += copy->gpus_free;
    course->order.work++;
}

static void end_at(struct gw_expected_course *course, uint64_t at_ns,
                   const struct gw_expected_end *ending)
{
    const struct gw_expected_due due = {at_ns, (uint32_t)course->ends.count};
    GW_MUST(gw_array_push(&course->ends, *ending));
    GW_MUST(gw_array_push(&course->dues, due));
    dues_up(course->dues.items, course->dues.count - 1);
}

static uint64_t after(const struct gw_expected_course *course, uint64_t ns)
{
    return ns < UINT64_MAX - course->now_ns ? course->now_ns + ns : UINT64_MAX;
}

/* Lets work of a job end after a time. If the time is unknown, the work ends at once or never. */
static void plan_end(struct gw_expected_course *course, uint64_t left_ns, bool known,
                     const struct gw_expected_end *ending)
{
    if (!known && !course->cause)
        course->cause = ending->run.job->id;
    if (known || course->ends_soon)
        end_at(course, known ? after(course, left_ns) : course->now_ns, ending);
}

static void see_release(struct gw_expected_course *course, uint32_t copy,
                        const struct gw_release *release)
{
    const struct gw_sched *sched = course->sched;
    const struct gw_attempt *attempt = &sched->attempts.items[release->attempt];
    const struct gw_resource_class *shape = release->lane->shape;
    struct gw_expected_end ending = {
        .copy = copy,
        .gpus_at = (uint32_t)course->numbers.count,
        .holding = {shape, release->debits, release->slots, release->memory_bytes, NULL, 0},
        .run = {.job = attempt->job,
                .use = {.slots = (uint64_t)shape->slots * release->debits,
                        .gpu_thousandths = gw_sched_attempt_gpu_thousandths(attempt)},
                .memory_bytes = release->memory_bytes,
                .attempts = release->debits,
                .tasks = attempt->rank == GW_RANK_NONE || attempt->rank == 0,
                .billed = attempt->billed && !attempt->preempted}};
    for (uint32_t i = 0;
         attempt->gpus && (i = gw_sched_gpu_next(sched, release->attempt, i)) != GW_NO_INDEX; i++) {
        GW_MUST(gw_array_push(&course->numbers, i));
        ending.holding.gpu_count++;
    }
    plan_end(course, release->at_ns - sched->now_ns, release->known, &ending);
}

/* Tasks that wait for running tasks of their job are in no queue yet, and may come first. */
static void see_job(struct gw_expected_course *course, const struct gw_job *job)
{
    const struct gw_queue *target = course->order.target;
    uint64_t ready = 0;
    for (size_t i = 0; i < job->queues.count; i++) {
        ready += job->queues.items[i]->ready.count;
        if (job->range && job->queues.items[i]->heap_at == GW_NO_INDEX && !gw_sched_job_rests(job))
            gw_expected_order_add(&course->order, job->queues.items[i]);
    }
    if (job != target->job && !job->range && job->queues.count &&
        job->unfinished > job->placed + ready &&
        gw_expected_order_precedes(job->queues.items[0], target))
        course->unsure = true;
}

static void see_worker(struct gw_expected_course *course, const struct gw_worker *worker)
{
    struct gw_releases releases = {0};
    const struct gw_job *job = NULL;
    gw_sched_forecast_releases(course->sched, worker, true, &releases);
    for (size_t i = 0; i < releases.count; i++) {
        see_release(course, course->count, &releases.items[i]);
        const struct gw_job *of = course->sched->attempts.items[releases.items[i].attempt].job;
        if (of != job)
            see_job(course, of);
        job = of;
    }
    course->order.work += 1 + 2 * releases.count;
    gw_array_deinit(&releases);
}

static void see_workers(struct gw_expected_course *course)
{
    const struct gw_sched *sched = course->sched;
    size_t gpus = 0, stock = 0;
    for (size_t i = 0; i < sched->workers.count; i++) {
        gpus += sched->workers.items[i] ? sched->workers.items[i]->gpu_count : 0;
        stock += sched->workers.items[i] ? sched->workers.items[i]->stock_count : 0;
    }
    course->copies = malloc((sched->workers.count + 1) * sizeof *course->copies);
    course->gpus = malloc((gpus + 1) * sizeof *course->gpus);
    course->stock = malloc((stock + 1) * sizeof *course->stock);
    GW_MUST_PTR(course->copies);
    GW_MUST_PTR(course->gpus);
    GW_MUST_PTR(course->stock);
    gpus = stock = 0;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_READY || worker->drained || worker->leaves)
            continue;
        struct gw_worker *copy = &course->copies[course->count];
        gw_worker_copy_init(copy, worker, course->gpus + gpus, course->stock + stock);
        see_worker(course, worker);
        course->count++;
        gpus += worker->gpu_count;
        stock += worker->stock_count;
        course->slots_free += copy->slots_free;
        course->gpus_free += copy->gpus_free;
    }
}

void gw_expected_course_init(struct gw_expected_course *course, const struct gw_sched *sched,
                             const struct gw_queue *target, uint64_t ahead, bool ends_soon)
{
    *course = (struct gw_expected_course){
        .sched = sched, .now_ns = sched->now_ns, .ends_soon = ends_soon};
    gw_expected_order_init(&course->order, sched, target, ahead);
    see_workers(course);
}

/* -- The course of time --------------------------------------------------------------------------
 */

void gw_expected_course_begin(struct gw_expected_course *course,
                              const struct gw_expected_begin *begin)
{
    const struct gw_queue *queue = begin->queue;
    const struct gw_resource_class *shape = queue->shape;
    const uint32_t gpus = gw_sched_queue_class_gpus(shape);
    const struct gw_account_use need = gw_account_quota_need(shape);
    const uint64_t all = shape->ranks ? shape->ranks : 1;
    struct gw_expected_end ending = {
        .copy = begin->copy,
        .gpus_at = (uint32_t)course->numbers.count,
        .holding = {shape, 1, shape->alone ? course->copies[begin->copy].slots : shape->slots,
                    shape->memory_bytes, NULL, gpus},
        .run = {.job = queue->job,
                .use = {.slots = need.slots / all, .gpu_thousandths = need.gpu_thousandths / all},
                .memory_bytes = shape->memory_bytes,
                .attempts = 1,
                .tasks = begin->first,
                .billed = queue->job->payer && !gw_expected_order_held(&course->order, queue)}};
    GW_MUST(gw_array_reserve(&course->numbers, gpus));
    if (gpus)
        gw_sched_gpu_pick(&course->copies[begin->copy], shape, 1,
                          course->numbers.items + course->numbers.count);
    course->numbers.count += gpus;
    move(course, &ending, true);
    gw_expected_order_begun(&course->order, &ending.run, course->now_ns);
    plan_end(course, begin->run_ns, begin->known && !queue->job->actor, &ending);
}

void gw_expected_course_wake(struct gw_expected_course *course, uint64_t at_ns)
{
    end_at(course, at_ns, &(struct gw_expected_end){.copy = GW_NO_INDEX});
}

bool gw_expected_course_go_on(struct gw_expected_course *course)
{
    if (!course->dues.count)
        return false;
    if (course->order.rises_ns < course->dues.items[0].at_ns) {
        course->now_ns = course->order.rises_ns;
        return true;
    }
    course->now_ns = course->dues.items[0].at_ns;
    struct gw_expected_end *ending = &course->ends.items[course->dues.items[0].end];
    dues_remove(course->dues.items, &course->dues.count, 0);
    if (ending->copy == GW_NO_INDEX)
        return true;
    move(course, ending, false);
    gw_expected_order_ended(&course->order, &ending->run, course->now_ns);
    GW_MUST(gw_array_push(&course->touched, ending->copy));
    return true;
}

bool gw_expected_course_foresee(struct gw_expected_course *course, gw_expected_course_see *see,
                                void *arg)
{
    GW_ARRAY(struct gw_expected_end *) given = {0};
    GW_ARRAY(struct gw_expected_due) dues = {0};
    bool seen = false;
    for (uint32_t i = 0; i < course->count && !seen; i++)
        seen = see(course, course->now_ns, i, arg);
    for (size_t i = 0; i < course->dues.count && !seen; i++)
        GW_MUST(gw_array_push(&dues, course->dues.items[i]));
    course->order.work += course->count / 4 + dues.count / 4;
    while (!seen && dues.count) {
        const struct gw_expected_due due = dues.items[0];
        struct gw_expected_end *ending = &course->ends.items[due.end];
        dues_remove(dues.items, &dues.count, 0);
        if (ending->copy == GW_NO_INDEX)
            continue;
        move(course, ending, false);
        GW_MUST(gw_array_push(&given, ending));
        seen = see(course, due.at_ns, ending->copy, arg);
    }
    for (size_t i = given.count; i-- > 0;)
        move(course, given.items[i], true);
    gw_array_deinit(&given);
    gw_array_deinit(&dues);
    return seen;
}

void gw_expected_course_deinit(struct gw_expected_course *course)
{
    gw_expected_order_deinit(&course->order);
    gw_array_deinit(&course->touched);
    gw_array_deinit(&course->numbers);
    gw_array_deinit(&course->ends);
    gw_array_deinit(&course->dues);
    free(course->copies);
    free(course->gpus);
    free(course->stock);
}
