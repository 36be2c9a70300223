/* Delays.
 *
 * A delayed task is waiting, with GW_TASK_DELAYED; whatever ends it takes the flag. Its entry stays
 * in the heap until its time has come, and counts only if the task still is at the same try. */
#include "scheduler/core/delay.h"

#include "scheduler/core/job.h"
#include "scheduler/core/story.h"

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

void gw_sched_apply_task_delayed(struct gw_sched *sched, const struct gw_fact_task_delayed *fact)
{
    struct gw_tasks *tasks = &fact->job->tasks;
    assert(tasks->state[fact->index] == GW_TASK_WAITING);
    tasks->flags[fact->index] |= GW_TASK_DELAYED;
    GW_STORY(sched, fact->job, .kind = GW_STORY_DELAYED, .index = fact->index,
             .try_number = tasks->charges[fact->index].tries,
             .number = fact->due_ns - sched->now_ns);
    push(sched, &(struct gw_delay){fact->due_ns, fact->job->id, fact->index,
                                   tasks->charges[fact->index].tries});
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
