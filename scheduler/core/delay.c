/* Delays.
 *
 * A delayed task is waiting, with GW_TASK_DELAYED; whatever ends it takes the flag. Its entry stays
 * in the heap until its time has come, and counts only if the task still is at the same try. While
 * durable facts are applied the list holds times of day, in no order; the first step of a life
 * makes a heap of what is left of them. */
#include "scheduler/core/delay.h"

#include "scheduler/core/job.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/range.h"
#include "scheduler/core/story.h"
#include "scheduler/core/task.h"

#include <assert.h>

uint64_t gw_sched_delay_ns(const struct gw_spec *spec, const struct gw_charges *charges)
{
    uint64_t delay_ns = spec->message.backoff_ns;
    if (delay_ns > GW_BACKOFF_NS_MAX)
        delay_ns = GW_BACKOFF_NS_MAX;
    for (uint32_t i = 1; i < (uint32_t)charges->retries + charges->crashes; i++) {
        if (delay_ns >= GW_BACKOFF_NS_MAX / 2)
            return delay_ns ? GW_BACKOFF_NS_MAX : 0;
        delay_ns *= 2;
    }
    return delay_ns;
}

static void swap(struct gw_delay *a, struct gw_delay *b)
{
    struct gw_delay c = *a;
    *a = *b;
    *b = c;
}

static void push(struct gw_sched *sched, const struct gw_delay *delay)
{
    GW_MUST(gw_array_push(&sched->delays, *delay));
    struct gw_delay *items = sched->delays.items;
    for (size_t at = sched->delays.count - 1; at > 0; at = (at - 1) / 2) {
        if (items[(at - 1) / 2].due_ns <= items[at].due_ns)
            return;
        swap(&items[(at - 1) / 2], &items[at]);
    }
}

static struct gw_delay pop(struct gw_sched *sched)
{
    struct gw_delay *items = sched->delays.items, first = items[0];
    size_t count = --sched->delays.count, at = 0;
    items[0] = items[count];
    for (size_t child; (child = at * 2 + 1) < count; at = child) {
        if (child + 1 < count && items[child + 1].due_ns < items[child].due_ns)
            child++;
        if (items[at].due_ns <= items[child].due_ns)
            break;
        swap(&items[at], &items[child]);
    }
    return first;
}

/* The task that an entry is about; NULL when it waits no more, or for something later. */
static struct gw_job *job_of(const struct gw_sched *sched, const struct gw_delay *delay)
{
    struct gw_job *job = gw_sched_job_find(sched, delay->job);
    if (!job || !(job->tasks.flags[delay->index] & GW_TASK_DELAYED) ||
        job->tasks.charges[delay->index].tries != delay->tries)
        return NULL;
    return job;
}

void gw_sched_delay(struct gw_sched *sched, struct gw_job *job, uint32_t row, uint64_t delay_ns)
{
    uint64_t left_ns = GW_PLANTED(141) ? 0 : delay_ns;
    GW_FACT(sched, task_delayed, .at = job, .job = job->id, .index = row, .left_ns = left_ns,
            .wall_ns = sched->wall_ns + left_ns);
}

static void delay_until(struct gw_sched *sched, struct gw_job *job, uint32_t row, uint64_t due_ns)
{
    struct gw_tasks *tasks = &job->tasks;
    assert(tasks->state[row] == GW_TASK_WAITING);
    tasks->flags[row] |= GW_TASK_DELAYED;
    GW_STORY(sched, job, .kind = GW_STORY_DELAYED, .index = row,
             .try_number = tasks->charges[row].tries, .number = due_ns - sched->now_ns);
    push(sched, &(struct gw_delay){due_ns, job->id, row, tasks->charges[row].tries});
}

void gw_sched_apply_task_delayed(struct gw_sched *sched, const struct gw_fact_task_delayed *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    if (!sched->restoring) {
        delay_until(sched, job, fact->index, sched->now_ns + fact->left_ns);
        return;
    }
    gw_sched_range_catch_up(sched, job, fact->index);
    uint16_t tries = job->tasks.charges[fact->index].tries;
    job->tasks.flags[fact->index] |= GW_TASK_DELAYED; /* as long as it has not ended since */
    GW_MUST(gw_array_push(&sched->delays,
                          ((struct gw_delay){fact->wall_ns, job->id, fact->index, tries})));
}

void gw_sched_apply_delay_resumed(struct gw_sched *sched, const struct gw_fact_delay_resumed *fact)
{
    struct gw_tasks *tasks = &fact->job->tasks;
    if (tasks->state[fact->index] == GW_TASK_READY) {
        gw_sched_queue_remove(sched, gw_sched_task_queue(sched, fact->job, fact->index),
                              fact->index);
        gw_sm_move(&gw_sched_task_sm, &tasks->state[fact->index], GW_TASK_WAITING);
    }
    delay_until(sched, fact->job, fact->index, fact->due_ns);
}

/* The clocks of two lives have nothing in common but the time of day, and that may have been set:
 * nothing waits longer than it would have without the restart. */
static uint64_t left_ns(const struct gw_sched *sched, const struct gw_job *job,
                        const struct gw_delay *before)
{
    const struct gw_tasks *tasks = &job->tasks;
    uint64_t most_ns = gw_sched_delay_ns(&job->specs.items[tasks->spec[before->index]],
                                         &tasks->charges[before->index]);
    uint64_t left_ns = before->due_ns > sched->wall_ns ? before->due_ns - sched->wall_ns : 0;
    return left_ns < most_ns ? left_ns : most_ns;
}

void gw_sched_delays_begin(struct gw_sched *sched)
{
    GW_ARRAY(struct gw_delay) before = {0};
    for (size_t i = 0; i < sched->delays.count; i++)
        if (job_of(sched, &sched->delays.items[i]))
            GW_MUST(gw_array_push(&before, sched->delays.items[i]));
    for (size_t i = 0; i < sched->delays.count; i++) { /* those of earlier tries, too */
        struct gw_job *job = gw_sched_job_find(sched, sched->delays.items[i].job);
        if (job)
            job->tasks.flags[sched->delays.items[i].index] &= (uint16_t)~GW_TASK_DELAYED;
    }
    gw_array_clear(&sched->delays);
    for (size_t i = 0; i < before.count; i++) {
        const struct gw_delay *delay = &before.items[i];
        struct gw_job *job = gw_sched_job_find(sched, delay->job);
        uint64_t wait_ns = left_ns(sched, job, delay);
        uint8_t state = job->tasks.state[delay->index];
        if (wait_ns && (state == GW_TASK_READY || state == GW_TASK_WAITING))
            GW_FACT(sched, delay_resumed, .job = job, .index = delay->index,
                    .due_ns = sched->now_ns + wait_ns);
    }
    gw_array_deinit(&before);
}

void gw_sched_apply_delay_passed(struct gw_sched *sched, const struct gw_fact_delay_passed *fact)
{
    (void)fact;
    struct gw_delay delay = pop(sched);
    struct gw_job *job = job_of(sched, &delay);
    if (!job)
        return;
    job->tasks.flags[delay.index] &= (uint16_t)~GW_TASK_DELAYED;
    GW_MUST(gw_array_push(&sched->reopened, (struct gw_row){job, delay.index}));
}

void gw_sched_delays_on_tick(struct gw_sched *sched)
{
    while (sched->delays.count && sched->delays.items[0].due_ns <= sched->now_ns)
        GW_FACT(sched, delay_passed, .now_ns = sched->now_ns);
}

uint64_t gw_sched_delays_deadline_ns(const struct gw_sched *sched)
{
    return sched->delays.count ? sched->delays.items[0].due_ns : UINT64_MAX;
}

uint64_t gw_sched_delay_left_ns(const struct gw_sched *sched, const struct gw_job *job,
                                uint32_t row)
{
    for (size_t i = 0; i < sched->delays.count; i++) {
        const struct gw_delay *delay = &sched->delays.items[i];
        if (delay->index == row && job_of(sched, delay) == job)
            return delay->due_ns > sched->now_ns ? delay->due_ns - sched->now_ns : 0;
    }
    return 0;
}
