/* Reports of workers about attempts that started or ended. */

#include "scheduler/core/lifecycle/worker_report.h"

#include "scheduler/core/lifecycle/gang_control.h"
#include "scheduler/core/lifecycle/gang_end.h"
#include "scheduler/core/lifecycle/hang.h"
#include "scheduler/core/lifecycle/task_end.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/pipelining.h"
#include "scheduler/core/send/log.h"
#include "scheduler/core/send/outbox.h"

#include <stdio.h>

int gw_sched_on_started(struct gw_sched *sched, struct gw_worker *worker,
                        const struct gw_msg_started *started)
{
    if (started->rank.count != started->attempt.count)
        return GW_EPROTO;
    for (uint32_t i = 0; i < started->attempt.count; i++) {
        uint64_t id = gw_col64_at(started->attempt, i);
        uint32_t rank = gw_col32_at(started->rank, i);
        uint32_t slot = gw_sched_attempt_slot(sched, worker, id, rank);
        if (slot == GW_NO_INDEX)
            slot = gw_sched_gang_slot(sched, worker, id, rank);
        if (slot == GW_NO_INDEX || sched->attempts.items[slot].started_ns ||
            sched->attempts.items[slot].state == GW_ATTEMPT_RUNNING)
            continue;
        const bool waited = gw_sched_attempt_waits(&sched->attempts.items[slot]);
        bool was_long = sched->attempts.items[slot].is_long;
        gw_sched_attempt_start(sched, slot);
        if (waited && !was_long)
            gw_sched_task_end_take_back(sched, sched->attempts.items[slot].lane);
    }
    return 0;
}

/* A rank has ended well. Ranks that the scheduler does not know are ignored. Returns GW_EPROTO if
 * the scheduler has not told the gang of the rank to start. */
static int finished_rank(struct gw_sched *sched, struct gw_worker *worker, uint64_t id,
                         uint32_t rank, const struct gw_result *result)
{
    uint32_t slot = gw_sched_gang_slot(sched, worker, id, rank);
    if (slot == GW_NO_INDEX) {
        gw_sched_worker_report_on_stale(sched, worker, id, rank);
        return 0;
    }
    struct gw_gang_attempt *gang = gw_sched_gang_find(sched, id);
    if (gang->state == GW_GANG_PREPARING)
        return GW_EPROTO;
    gw_sched_attempt_end(sched, slot, true, 0, 0);
    gw_sched_gang_rank_finish(gang, rank, result);
    if (gang->live > 0)
        gw_sched_hang_on_finished(sched, gang);
    else if (gang->state != GW_GANG_RECOVERING)
        gw_sched_gang_end_over(sched, gang);
    return 0;
}

static int finished_row(struct gw_sched *sched, struct gw_worker *worker, uint64_t id,
                        uint32_t rank, const struct gw_result *result, uint64_t run_ns)
{
    uint32_t slot = gw_sched_attempt_slot(sched, worker, id, rank);
    if (slot == GW_NO_INDEX && rank == GW_RANK_NONE &&
        gw_sched_late_claim_finished(sched, worker, id, result, run_ns))
        return 0;
    if (slot == GW_NO_INDEX) {
        gw_sched_late_claim_ended(sched, worker, id, rank);
        return finished_rank(sched, worker, id, rank, result);
    }
    struct gw_job *job = sched->attempts.items[slot].job;
    uint32_t row = sched->attempts.items[slot].index;
    gw_sched_attempt_end(sched, slot, true, run_ns, result->bytes);
    if (sched->quarantines.count && job->specs.items[job->tasks.spec[row]].message.files.size)
        gw_sched_quarantine_end(sched, worker, true);
    uint8_t state = job->tasks.state[row];
    if (state == GW_TASK_CANCELLING || state == GW_TASK_PIPELINED) {
        /* The worker stores a result that no task will need. */
        if (!result->value)
            gw_sched_outbox_release(sched, worker, &(struct gw_release_row){job->id, row, 0});
        gw_sched_pipelining_recall(sched, job, row);
        /* A pipelined task runs again, because the task that made its input was cancelled or lost.
         */
        if (state == GW_TASK_CANCELLING)
            gw_sched_task_end_cancelled(sched, job, row);
        else
            gw_sched_task_requeue(sched, job, row);
        return 0;
    }
    gw_sched_task_end_done(sched, job, row, &(struct gw_results){result, 1});
    return 0;
}

void gw_sched_worker_report_finish(struct gw_sched *sched, struct gw_worker *worker,
                                   uint64_t attempt, const struct gw_result *result,
                                   uint64_t run_ns)
{
    (void)finished_row(sched, worker, attempt, GW_RANK_NONE, result, run_ns);
}

int gw_sched_on_finished(struct gw_sched *sched, struct gw_worker *worker,
                         const struct gw_msg_finished *finished)
{
    uint32_t rows = finished->attempt.count;
    if (finished->rank.count != rows || finished->bytes.count != rows ||
        finished->value_size.count != rows || finished->run_ns.count != rows)
        return GW_EPROTO;
    const uint8_t *values = finished->values.data, *end = values + finished->values.size;
    int rc = 0;
    for (uint32_t i = 0; i < rows && rc == 0; i++) {
        gw_sched_attempts_ahead(sched, &finished->attempt, i);
        uint32_t size = gw_col32_at(finished->value_size, i);
        uint64_t bytes = gw_col64_at(finished->bytes, i);
        if (size > (size_t)(end - values) || (size > 0 && size != bytes))
            return GW_EPROTO;
        struct gw_result result = {.bytes = bytes, .size = size, .worker = worker};
        if (size == bytes)
            result.value = size ? (const void *)values : "";
        values += size;
        rc =
            finished_row(sched, worker, gw_col64_at(finished->attempt, i),
                         gw_col32_at(finished->rank, i), &result, gw_col64_at(finished->run_ns, i));
    }
    return rc;
}

void gw_sched_worker_report_ended(struct gw_sched *sched, uint32_t slot, const struct gw_end *end)
{
    const struct gw_attempt attempt = sched->attempts.items[slot];
    if (attempt.gang) {
        gw_sched_gang_end_rank(sched, attempt.gang, attempt.rank, end);
        return;
    }
    char where[320];
    (void)snprintf(where, sizeof where, "on %s", attempt.worker->host);
    gw_sched_task_end_badly(sched, slot, end->run_ns);
    gw_sched_task_end(sched, &(struct gw_task_end_cause){attempt.job, attempt.index, attempt.id,
                                                         where, end, false, false});
}

/* An attempt that was preempted continues later, and this end does not count. An attempt that was
 * ended at the deadline of its drained worker is lost with a worker that left as planned. Writes
 * why into `text`. */
static void end_early(const struct gw_sched *sched, const struct gw_attempt *attempt,
                      struct gw_end *end, char text[static GW_ERROR_TEXT_MAX])
{
    const struct gw_worker_drain *drain =
        gw_sched_worker_drain_find(sched, attempt->worker->remote->name);
    if (end->outcome != GW_OUTCOME_KILLED || !end->executing || attempt->gang)
        return;
    if (attempt->preempted) {
        (void)snprintf(text, GW_ERROR_TEXT_MAX, "it was preempted");
        (void)gw_sched_preemption_text(sched, attempt->job, attempt->index, text,
                                       GW_ERROR_TEXT_MAX);
        end->outcome = GW_OUTCOME_PREEMPTED;
        end->executing = false;
        end->text = text;
        return;
    }
    if (!attempt->drain_ends)
        return;
    (void)snprintf(text, GW_ERROR_TEXT_MAX, "drained");
    if (drain)
        gw_sched_worker_drain_text(drain, text, GW_ERROR_TEXT_MAX);
    end->outcome = GW_OUTCOME_LOST;
    end->code = GW_ELOST;
    end->dismissed = true;
    end->text = text;
}

int gw_sched_on_ended(struct gw_sched *sched, struct gw_worker *worker,
                      const struct gw_msg_ended *ended)
{
    if (ended->outcome < GW_OUTCOME_FAILED || ended->outcome == GW_OUTCOME_LOST ||
        (ended->outcome > GW_OUTCOME_GPU && ended->outcome != GW_OUTCOME_FILES &&
         ended->outcome != GW_OUTCOME_FULL && ended->outcome != GW_OUTCOME_UNREACHED))
        return GW_EPROTO;
    if (ended->outcome == GW_OUTCOME_UNREACHED && ended->rank == GW_RANK_NONE)
        return GW_EPROTO;
    uint32_t slot = gw_sched_attempt_slot(sched, worker, ended->attempt, ended->rank);
    if (slot == GW_NO_INDEX)
        slot = gw_sched_gang_slot(sched, worker, ended->attempt, ended->rank);
    if (slot == GW_NO_INDEX) {
        gw_sched_late_claim_ended(sched, worker, ended->attempt, ended->rank);
        gw_sched_worker_report_on_stale(sched, worker, ended->attempt, ended->rank);
        return 0;
    }
    struct gw_end end = {
        .outcome = ended->outcome,
        .code = ended->code,
        .exit_code = ended->exit_code,
        .signal = ended->signal,
        .executing = ended->executing != 0,
        .port_taken = ended->port_taken != 0,
        .text = ended->text,
        .stderr_tail = ended->stderr_tail,
        .run_ns = ended->outcome == GW_OUTCOME_FAILED ? ended->run_ns : 0,
        .peer = ended->peer,
    };
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    const struct gw_resource_class *shape =
        attempt->job->specs.items[attempt->job->tasks.spec[attempt->index]].shape;
    /* The task fails for good if no other worker can be expected to fetch its files. */
    if (end.outcome == GW_OUTCOME_FILES &&
        !gw_sched_ranks_quarantine_files_begin(sched, worker, shape))
        end.outcome = GW_OUTCOME_CANNOT_START;
    char text[GW_ERROR_TEXT_MAX];
    end_early(sched, attempt, &end, text);
    if (gw_sched_gpu_text_ran_out(attempt, &end)) {
        uint64_t bytes = worker->gpus[attempt->gpu].memory_bytes;
        bytes = attempt->gpu_fraction ? bytes / GW_GPU_WHOLE * attempt->gpu_fraction : bytes;
        (void)snprintf(text, sizeof text, "out of GPU memory (the task may use %.1f GiB): %s",
                       (double)bytes / (1 << 30), end.text);
        end.text = text;
    }
    gw_sched_worker_report_ended(sched, slot, &end);
    return 0;
}

int gw_sched_on_failures(struct gw_sched *sched, struct gw_worker *worker,
                         const struct gw_msg_failures *failures)
{
    int rc = 0;
    for (uint32_t i = 0; i < failures->attempt.count && rc == 0; i++) {
        const struct gw_msg_ended ended = {.attempt = gw_col64_at(failures->attempt, i),
                                           .rank = GW_RANK_NONE,
                                           .outcome = GW_OUTCOME_FAILED,
                                           .code = failures->code,
                                           .executing = 1,
                                           .text = failures->text,
                                           .stderr_tail = failures->stderr_tail,
                                           .run_ns = gw_col64_at(failures->run_ns, i)};
        gw_sched_attempts_ahead(sched, &failures->attempt, i);
        rc = gw_sched_on_ended(sched, worker, &ended);
    }
    return rc;
}

/* -- Gangs, and workers that become ready -------------------------------------------------- */

void gw_sched_worker_report_gathered(struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    gw_sched_gang_move(sched, gang, GW_GANG_RUNNING);
    if (gang->live == 0)
        gw_sched_gang_end_over(sched, gang);
    else
        gw_sched_gang_control_again(sched, gang);
}

void gw_sched_worker_report_ready(struct gw_sched *sched, struct gw_worker *worker)
{
    if (worker->stale.count > 0 || !gw_sched_hold_knows(sched, worker))
        return;
    gw_sched_worker_make_ready(sched, worker);
    gw_sched_log_joined(sched, worker);
}

void gw_sched_worker_report_on_stale(struct gw_sched *sched, struct gw_worker *worker,
                                     uint64_t attempt, uint32_t rank)
{
    if (worker->state != GW_WORKER_REJOINING)
        return;
    gw_sched_worker_clear(worker, attempt, rank);
    gw_sched_worker_report_ready(sched, worker);
}
