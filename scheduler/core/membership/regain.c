/* Regaining.
 *
 * Always: an object is absent only where an attempt of an earlier life made it, and no worker that
 * is connected has it; that means something only while workers are awaited. No task is placed
 * that takes what is absent: its job waits with those that are held. An object is taken back only
 * for the attempt that its task ended with: another one's is not the same, though it has its name.
 */
#include "scheduler/core/membership/regain.h"

#include "scheduler/core/membership/adopt.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/outbox.h"

/* -- What workers have ---------------------------------------------------------------------------
 */

/* The object that row i of a registration is; GW_NONE: nothing that anybody here could want. */
static uint32_t find(const struct gw_sched *sched, const struct gw_msg_registration *message,
                     uint32_t i)
{
    struct gw_job *job = gw_sched_job_find(sched, gw_col64_at(message->object_job, i));
    uint32_t row = gw_col32_at(message->object_index, i);
    uint64_t attempt = gw_col64_at(message->object_attempt, i);
    if (GW_PLANTED(561) || !gw_sched_history_is_of(sched, message) || !job || !attempt ||
        row >= job->tasks.count || !gw_sched_row_live(job, row) ||
        job->tasks.state[row] != GW_TASK_DONE ||
        (job->tasks.attempt[row] != attempt && !GW_PLANTED(563)) ||
        (job->tasks.flags[row] & GW_TASK_ALIAS))
        return GW_NONE;
    uint32_t at = gw_sched_object_of(sched, job, row, gw_col32_at(message->object_rank, i));
    if (at == GW_NONE || gw_sched_object_here(&sched->objects.items[at]) ||
        sched->objects.items[at].bytes != gw_col64_at(message->object_bytes, i))
        return GW_NONE;
    return at;
}

void gw_sched_regain(struct gw_sched *sched, struct gw_worker *worker,
                     const struct gw_msg_registration *registration)
{
    for (uint32_t i = 0; i < registration->object_job.count; i++) {
        uint64_t job = gw_col64_at(registration->object_job, i);
        uint32_t row = gw_col32_at(registration->object_index, i);
        uint32_t at = find(sched, registration, i);
        if (at == GW_NONE && !gw_sched_adopts(sched, worker, job, row)) {
            gw_sched_send_release(
                sched, worker,
                &(struct gw_release_row){job, row, gw_col32_at(registration->object_rank, i)});
        } else if (at != GW_NONE) {
            uint32_t holder = gw_sched_holder_of(sched, at, worker->slot);
            if (holder == GW_NONE || !sched->holders.items[holder].firm) /* it says it once */
                GW_FACT(sched, object_regained, .object = at, .worker = worker);
        }
    }
}

/* -- What is absent ------------------------------------------------------------------------------
 */

static bool is_missing(const struct gw_sched *sched, uint32_t at)
{
    return !gw_sched_object_here(&sched->objects.items[at]) &&
           gw_sched_holder_any(sched, at, GW_NONE) == GW_NONE;
}

bool gw_sched_regain_awaits(const struct gw_sched *sched, const struct gw_job *job, uint32_t row)
{
    bool any = false;
    if (!sched->hold.until_ns || !gw_sched_row_live(job, row) || GW_PLANTED(562))
        return false;
    for (uint32_t at = gw_sched_objects_of(sched, job, row); at != GW_NONE;
         at = sched->objects.items[at].next) {
        if (!is_missing(sched, at))
            continue;
        if (!sched->objects.items[at].absent)
            return false; /* with that one all of them are made again */
        any = true;
    }
    return any;
}
