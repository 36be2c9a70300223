/* Delays: tasks that wait for some time before they run again.
 *
 * A delayed task is in state GW_TASK_WAITING with the flag GW_TASK_DELAYED. Whatever ends the task
 * clears the flag. The entry in the heap of delays stays until its time has come, and counts only
 * if the task has not run again since.
 *
 * While the journal is read, the list of delays is unordered and holds wall clock times. The first
 * step after a restart builds the heap from the delays that have not passed. */
#include "scheduler/core/lifecycle/delay.h"

#include "scheduler/core/model/model.h"

void gw_sched_delay(struct gw_sched *sched, struct gw_job *job, uint32_t row, uint64_t delay_ns)
{
    uint64_t left_ns = delay_ns;
    GW_FACT(sched, task_delayed, .at = job, .job = job->id, .index = row, .left_ns = left_ns,
            .wall_ns = sched->wall_ns + left_ns);
}

void gw_sched_delays_begin(struct gw_sched *sched)
{
    struct gw_delays before = gw_sched_delays_take(sched);
    for (size_t i = 0; i < before.count; i++) {
        const struct gw_delay *delay = &before.items[i];
        struct gw_job *job = gw_sched_job_find(sched, delay->job);
        uint64_t wait_ns = gw_sched_delay_rest_ns(sched, job, delay);
        uint8_t state = job->tasks.state[delay->index];
        if (wait_ns && (state == GW_TASK_READY || state == GW_TASK_WAITING))
            gw_sched_task_resume_delay(sched, job, delay->index, sched->now_ns + wait_ns);
    }
    gw_array_deinit(&before);
}

void gw_sched_delays_on_tick(struct gw_sched *sched)
{
    while (sched->delays.count && sched->delays.items[0].due_ns <= sched->now_ns)
        gw_sched_delay_pass(sched);
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
        if (delay->index == row && gw_sched_delay_job(sched, delay) == job)
            return delay->due_ns > sched->now_ns ? delay->due_ns - sched->now_ns : 0;
    }
    return 0;
}
