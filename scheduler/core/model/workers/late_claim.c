/* Attempts of an earlier term that a worker reported and whose adoption is not decided yet. */
#include "scheduler/core/model/workers/late_claim.h"

#include <stdlib.h>
#include <string.h>

void gw_sched_late_claim_add(struct gw_sched *sched, struct gw_worker *worker,
                             const struct gw_late_claim *claim)
{
    struct gw_late_claim late = *claim;
    late.gpus = NULL;
    if (late.gpu_count) {
        late.gpus = calloc(late.gpu_count, sizeof *late.gpus);
        GW_MUST_PTR(late.gpus);
        memcpy(late.gpus, claim->gpus, late.gpu_count * sizeof *late.gpus);
    }
    GW_MUST(gw_array_push(&worker->late, late));
    sched->late_claims++;
}

void gw_sched_late_claim_free(struct gw_late_claim *late)
{
    free(late->gpus);
    free(late->value);
}

void gw_sched_late_claim_leave(struct gw_sched *sched, struct gw_worker *worker, uint32_t at,
                               struct gw_late_claim *to)
{
    if (to)
        *to = worker->late.items[at];
    else
        gw_sched_late_claim_free(&worker->late.items[at]);
    memmove(worker->late.items + at, worker->late.items + at + 1,
            (--worker->late.count - at) * sizeof *worker->late.items);
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
    late->finished = true;
    late->bytes = result->bytes;
    late->size = result->size;
    late->run_ns = run_ns;
    if (!result->value)
        return true;
    late->value = malloc(result->size + 1);
    GW_MUST_PTR(late->value);
    memcpy(late->value, result->value, result->size);
    return true;
}

void gw_sched_late_claim_ended(struct gw_sched *sched, struct gw_worker *worker, uint64_t attempt,
                               uint32_t rank)
{
    const struct gw_late_claim *late =
        sched->late_claims ? gw_sched_late_claim_find(worker, attempt, rank) : NULL;
    if (late)
        gw_sched_late_claim_leave(sched, worker, (uint32_t)(late - worker->late.items), NULL);
}
