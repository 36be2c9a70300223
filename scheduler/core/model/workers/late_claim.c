/* Attempts of an earlier term that a worker reported and whose adoption is not decided yet. */
#include "scheduler/core/model/workers/late_claim.h"

#include <stdlib.h>
#include <string.h>

void gw_sched_apply_claim_waits(struct gw_sched *sched, const struct gw_fact_claim_waits *fact)
{
    struct gw_late_claim late = *fact->claim;
    late.gpus = NULL;
    if (late.gpu_count) {
        late.gpus = calloc(late.gpu_count, sizeof *late.gpus);
        GW_MUST_PTR(late.gpus);
        memcpy(late.gpus, fact->claim->gpus, late.gpu_count * sizeof *late.gpus);
    }
    GW_MUST(gw_array_push(&fact->worker->late, late));
    sched->late_claims++;
}

void gw_sched_apply_claim_finished(struct gw_sched *sched,
                                   const struct gw_fact_claim_finished *fact)
{
    struct gw_late_claim *late = fact->claim;
    const struct gw_result *result = fact->result;
    late->finished = true;
    late->bytes = result->bytes;
    late->size = result->size;
    late->run_ns = fact->run_ns;
    if (!result->value)
        return;
    late->value = malloc(result->size + 1);
    GW_MUST_PTR(late->value);
    memcpy(late->value, result->value, result->size);
}

void gw_sched_late_claim_free(struct gw_late_claim *late)
{
    free(late->gpus);
    free(late->value);
}

void gw_sched_apply_claim_left(struct gw_sched *sched, const struct gw_fact_claim_left *fact)
{
    struct gw_worker *worker = fact->worker;
    if (fact->to)
        *fact->to = worker->late.items[fact->at];
    else
        gw_sched_late_claim_free(&worker->late.items[fact->at]);
    memmove(worker->late.items + fact->at, worker->late.items + fact->at + 1,
            (--worker->late.count - fact->at) * sizeof *worker->late.items);
    sched->late_claims--;
}

void gw_sched_late_claim_forget(struct gw_sched *sched, struct gw_worker *worker)
{
    for (size_t i = 0; i < worker->late.count; i++)
        gw_sched_late_claim_free(&worker->late.items[i]);
    sched->late_claims -= (uint32_t)worker->late.count;
    gw_array_deinit(&worker->late);
}

struct gw_late_claim *gw_sched_late_claim_find(const struct gw_worker *worker, uint64_t attempt,
                                               uint32_t rank)
{
    for (size_t i = 0; i < worker->late.count; i++)
        if (worker->late.items[i].attempt == attempt && worker->late.items[i].rank == rank)
            return &worker->late.items[i];
    return NULL;
}

bool gw_sched_late_claim_exists(const struct gw_worker *worker, uint64_t attempt, uint32_t rank)
{
    return gw_sched_late_claim_find(worker, attempt, rank) != NULL;
}

bool gw_sched_late_claim_finished(struct gw_sched *sched, struct gw_worker *worker,
                                  uint64_t attempt, const struct gw_result *result, uint64_t run_ns)
{
    struct gw_late_claim *late =
        sched->late_claims ? gw_sched_late_claim_find(worker, attempt, GW_RANK_NONE) : NULL;
    if (!late || late->finished)
        return false;
    GW_FACT(sched, claim_finished, .claim = late, .result = result, .run_ns = run_ns);
    return true;
}

void gw_sched_late_claim_ended(struct gw_sched *sched, struct gw_worker *worker, uint64_t attempt,
                               uint32_t rank)
{
    const struct gw_late_claim *late =
        sched->late_claims ? gw_sched_late_claim_find(worker, attempt, rank) : NULL;
    if (late)
        GW_FACT(sched, claim_left, .worker = worker, .at = (uint32_t)(late - worker->late.items));
}
