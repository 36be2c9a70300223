/* Marks on pending requests: what changed since they were looked at. */
#include "scheduler/core/model/jobs/pending.h"

#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/replica.h"

#include <stdlib.h>
void gw_sched_questions_on_back(struct gw_sched *sched)
{
    size_t at = 0;
    uint64_t relay, value;
    while (gw_map_next(&sched->questions, &at, &relay, &value)) {
        const struct gw_question *question = (const struct gw_question *)(uintptr_t)value;
        if (question->worker == 0 &&
            (question->type == GW_MESSAGE_log_read || sched->hold.until_ns))
            GW_MUST(gw_array_push(&sched->revisited, question->job));
    }
}

void gw_sched_questions_on_placed(struct gw_sched *sched, const struct gw_job *job)
{
    size_t count = sched->followed.count;
    if (job->questions && (count == 0 || sched->followed.items[count - 1] != job->id))
        GW_MUST(gw_array_push(&sched->followed, job->id));
}

void gw_sched_questions_on_worker_lost(struct gw_sched *sched, uint32_t id)
{
    size_t at = 0;
    uint64_t relay, value;
    while (gw_map_next(&sched->questions, &at, &relay, &value))
        if (((const struct gw_question *)(uintptr_t)value)->worker == id)
            GW_FACT(sched, relayed, .relay = relay, .worker = NULL);
}

void gw_sched_apply_relayed(struct gw_sched *sched, const struct gw_fact_relayed *fact)
{
    uint64_t value;
    if (!gw_map_get(&sched->questions, fact->relay, &value))
        return;
    struct gw_question *question = (struct gw_question *)(uintptr_t)value;
    question->worker = fact->worker ? fact->worker->id : 0;
    if (!fact->worker)
        GW_MUST(gw_array_push(&sched->revisited, question->job));
}

void gw_sched_apply_asked(struct gw_sched *sched, const struct gw_fact_asked *fact)
{
    struct gw_question *question = malloc(sizeof *question);
    GW_MUST_PTR(question);
    *question = *fact->question;
    question->relay = sched->next_relay++;
    GW_MUST(gw_map_put(&sched->questions, question->relay, (uintptr_t)question));
    struct gw_job *job = gw_sched_job_find(sched, question->job);
    job->questions++;
    GW_MUST(gw_array_push(&sched->revisited, job->id));
}

void gw_sched_apply_answered(struct gw_sched *sched, const struct gw_fact_answered *fact)
{
    uint64_t value;
    if (!gw_map_get(&sched->questions, fact->relay, &value))
        return;
    struct gw_question *question = (struct gw_question *)(uintptr_t)value;
    struct gw_job *job = gw_sched_job_find(sched, question->job);
    job->questions--;
    if (job->questions == 0 && job->state == GW_JOB_ENDED)
        GW_MUST(gw_array_push(&sched->aging, job->id));
    (void)gw_map_remove(&sched->questions, fact->relay);
    gw_sched_replica_request_free(question->replication);
    free(question);
}

void gw_sched_pending_deinit(struct gw_sched *sched)
{
    size_t at = 0;
    uint64_t relay, value;
    while (gw_map_next(&sched->questions, &at, &relay, &value)) {
        struct gw_question *question = (struct gw_question *)(uintptr_t)value;
        gw_sched_replica_request_free(question->replication);
        free(question);
    }
    gw_map_deinit(&sched->questions);
}
