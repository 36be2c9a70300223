/* Attempts of gangs.
 *
 * One fact places all ranks. The ranks prepare. When all ranks are ready, the gang starts with the
 * token and info of rank 0. gang_end.c handles the end. */
#include "scheduler/core/model/jobs/gang.h"

#include "scheduler/core/model/jobs/attempt.h"
#include "scheduler/core/model/jobs/checkpoint.h"
#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/workers/gang_size.h"

#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct gw_sm_state gang_states[] = {
    [GW_GANG_PREPARING] = {"preparing", GW_SM_NEXT(GW_GANG_READY) | GW_SM_NEXT(GW_GANG_ENDING)},
    [GW_GANG_READY] = {"ready", GW_SM_NEXT(GW_GANG_RUNNING)},
    [GW_GANG_RUNNING] = {"running", GW_SM_NEXT(GW_GANG_ENDING) | GW_SM_NEXT(GW_GANG_ENDED)},
    [GW_GANG_ENDING] = {"ending", GW_SM_NEXT(GW_GANG_ENDED)},
    [GW_GANG_ENDED] = {"ended", 0},
    [GW_GANG_RECOVERING] = {"recovering", GW_SM_NEXT(GW_GANG_RUNNING) | GW_SM_NEXT(GW_GANG_ENDING)},
};
struct gw_sm gw_sched_gang_sm = {"gang", gang_states, sizeof gang_states / sizeof *gang_states,
                                 NULL};

static char *own_text(const char *text)
{
    char *copy = strdup(text ? text : "");
    GW_MUST_PTR(copy);
    return copy;
}

struct gw_gang_attempt *gw_sched_gang_of(const struct gw_sched *sched, const struct gw_job *job,
                                         uint32_t row)
{
    uint64_t gang;
    if (job->tasks.state[row] != GW_TASK_PLACED && job->tasks.state[row] != GW_TASK_CANCELLING)
        return NULL;
    return gw_map_get(&sched->gangs, job->tasks.attempt[row], &gang)
               ? (struct gw_gang_attempt *)(uintptr_t)gang
               : NULL;
}

/* -- Placement -------------------------------------------------------------------------------- */

/* Inserts a gang into the list of preparing gangs, ordered by deadline. */
void gw_sched_gang_enter_preparing(struct gw_sched *sched, struct gw_gang_attempt *gang,
                                   uint64_t limit_ns)
{
    gang->deadline_ns = sched->now_ns + limit_ns;
    gang->prev = sched->preparing_last;
    while (gang->prev && gang->prev->deadline_ns > gang->deadline_ns)
        gang->prev = gang->prev->prev;
    gang->next = gang->prev ? gang->prev->next : sched->preparing;
    if (gang->next)
        gang->next->prev = gang;
    else
        sched->preparing_last = gang;
    if (gang->prev)
        gang->prev->next = gang;
    else
        sched->preparing = gang;
}

/* Returns the time limit for the ranks to become ready. */
uint64_t gw_sched_gang_prepare_ns(const struct gw_sched *sched, const struct gw_gang_attempt *gang)
{
    return GW_GANG_PREPARE_NS +
           (gw_sched_checkpoint_needs_transfer(sched, gang) ? GW_GANG_TRANSFER_NS : 0);
}

struct gw_gang_attempt *gw_sched_gang_find(const struct gw_sched *sched, uint64_t id)
{
    uint64_t value;
    return gw_map_get(&sched->gangs, id, &value) ? (struct gw_gang_attempt *)(uintptr_t)value
                                                 : NULL;
}

uint32_t gw_sched_gang_slot(const struct gw_sched *sched, const struct gw_worker *worker,
                            uint64_t attempt, uint32_t rank)
{
    const struct gw_gang_attempt *gang = gw_sched_gang_find(sched, attempt);
    if (!gang || rank >= gang->count || gang->ranks[rank].slot == GW_NO_INDEX)
        return GW_NO_INDEX;
    uint32_t slot = gang->ranks[rank].slot;
    return sched->attempts.items[slot].worker == worker ? slot : GW_NO_INDEX;
}

/* -- Readiness and start ---------------------------------------------------------------------- */

struct gw_went gw_sched_gang_went(const struct gw_job *job, uint32_t row)
{
    uint64_t value;
    if (!gw_map_get(&gw_job_rare(job)->wents, row, &value))
        return (struct gw_went){0};
    return *(const struct gw_went *)(uintptr_t)value;
}

void gw_sched_apply_gang_went(struct gw_sched *sched, const struct gw_fact_gang_went *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    uint64_t value;
    if (!gw_map_get(&gw_job_rare(job)->wents, fact->index, &value)) {
        value = (uintptr_t)gw_arena_alloc(&job->arena, sizeof(struct gw_went));
        GW_MUST_PTR((void *)(uintptr_t)value);
        GW_MUST(gw_map_put(&gw_job_rare_make(job)->wents, fact->index, value));
    }
    *(struct gw_went *)(uintptr_t)value = (struct gw_went){fact->attempt, fact->tries};
    job->tasks.charges[fact->index].tries = (uint16_t)fact->tries;
}

void gw_sched_gang_rank_ready(struct gw_gang_attempt *gang, uint32_t rank, struct gw_bin info,
                              uint64_t token, const char *door)
{
    gang->ranks[rank].ready = true;
    gang->ready++;
    if (*door)
        gang->ranks[rank].door = own_text(door);
    if (rank != 0)
        return;
    gang->token = token;
    gang->info_size = info.size;
    gang->info = malloc(info.size + 1);
    GW_MUST_PTR(gang->info);
    if (info.size)
        memcpy(gang->info, info.data, info.size);
}

static void leave_preparing(struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    if (gang->prev)
        gang->prev->next = gang->next;
    else
        sched->preparing = gang->next;
    if (gang->next)
        gang->next->prev = gang->prev;
    else
        sched->preparing_last = gang->prev;
    gang->prev = gang->next = NULL;
}

void gw_sched_gang_set_late(struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    leave_preparing(sched, gang);
    gang->late = true;
    gw_sched_gang_enter_preparing(sched, gang, GW_HANG_LOOK_NS);
}

void gw_sched_gang_move(struct gw_sched *sched, struct gw_gang_attempt *gang, uint32_t state)
{
    const bool gathered = gang->state == GW_GANG_RECOVERING;
    if (gang->state == GW_GANG_PREPARING)
        leave_preparing(sched, gang);
    gw_sm_move(&gw_sched_gang_sm, &gang->state, state);
    if (state == GW_GANG_RUNNING)
        gang->went_ns = sched->now_ns;
    for (uint32_t i = 0; i < gang->count && gang->late;
         i++) /* the gang became ready after all: forget the inspections */
        gang->ranks[i].asked = gang->ranks[i].seen = false;
    if (state == GW_GANG_RUNNING && !gathered)
        GW_LOG_EVENT(sched, gang->job, .kind = GW_LOGGED_GANG_STARTED, .index = gang->index,
                     .count = gang->count, .number = gw_sched_gang_size_all(gang),
                     .try_number = gang->job->tasks.charges[gang->index].tries);
    if (state != GW_GANG_ENDED)
        return;
    (void)gw_map_remove(&sched->gangs, gang->id);
    gw_sched_gang_free(gang);
}

/* -- End -------------------------------------------------------------------------------------- */

static void record_cause(struct gw_gang_attempt *gang, uint32_t rank, const struct gw_end *cause)
{
    gang->cause = *cause;
    gang->cause.text = own_text(cause->text);
    gang->cause.stderr_tail = own_text(cause->stderr_tail);
    gang->cause_rank = rank;
    gang->cause_worker = rank == GW_NO_INDEX ? 0 : gang->ranks[rank].worker;
}

static void free_cause(struct gw_gang_attempt *gang)
{
    char *texts[2];
    memcpy(&texts[0], &gang->cause.text, sizeof texts[0]);
    memcpy(&texts[1], &gang->cause.stderr_tail, sizeof texts[1]);
    free(texts[0]);
    free(texts[1]);
}

void gw_sched_gang_end(struct gw_sched *sched, struct gw_gang_attempt *gang, uint32_t rank,
                       const struct gw_end *cause)
{
    if (gang->state == GW_GANG_PREPARING)
        leave_preparing(sched, gang);
    gang->early =
        gang->state == GW_GANG_RUNNING && sched->now_ns - gang->went_ns <= GW_GANG_EARLY_NS;
    gw_sm_move(&gw_sched_gang_sm, &gang->state, GW_GANG_ENDING);
    record_cause(gang, rank, cause);
}

void gw_sched_gang_set_cause(struct gw_gang_attempt *gang, uint32_t rank,
                             const struct gw_end *cause)
{
    free_cause(gang);
    record_cause(gang, rank, cause);
}

void gw_sched_gang_rank_finish(struct gw_gang_attempt *gang, uint32_t index,
                               const struct gw_result *result)
{
    struct gw_rank *rank = &gang->ranks[index];
    rank->finished = true;
    rank->result = *result;
    if (!result->value)
        return;
    void *copy = malloc(result->size + 1);
    GW_MUST_PTR(copy);
    if (result->size)
        memcpy(copy, result->value, result->size);
    rank->result.value = copy;
}

void gw_sched_gang_free(struct gw_gang_attempt *gang)
{
    for (uint32_t i = 0; i < gang->count; i++) {
        void *value;
        memcpy(&value, &gang->ranks[i].result.value, sizeof value);
        free(value);
        free(gang->ranks[i].door);
        free(gang->ranks[i].stack);
    }
    free_cause(gang);
    free(gang->ranks);
    free(gang->info);
    free(gang);
}

/* Handles a gang that ended without having started. The next attempt gets the same restart count,
 * because the count includes only attempts that ran. Listings do not show this attempt. */
void gw_sched_gang_unbegin(const struct gw_gang_attempt *gang)
{
    struct gw_job *job = gang->job;
    job->tasks.charges[gang->index].tries--;
    for (size_t i = job->places.count; i-- > 0;) {
        struct gw_place *place = &job->places.items[i];
        if (place->index != gang->index)
            continue;
        if (place->attempt != gang->id)
            break;
        place->unbegun = true;
    }
}

void gw_sched_gang_pause(struct gw_gang_attempt *gang)
{
    gang->paused = true;
}

void gw_sched_gang_port_taken(struct gw_gang_attempt *gang)
{
    gang->port_taken = true;
}

static char *stack_new(struct gw_bin stack)
{
    const size_t size = stack.size < GW_STAND_STACK_BYTES ? stack.size : GW_STAND_STACK_BYTES;
    char *copy = size ? strndup(stack.data, size) : NULL;
    if (stack.size)
        GW_MUST_PTR(copy);
    return copy;
}

void gw_sched_gang_rank_stand(struct gw_gang_attempt *gang, uint32_t index,
                              const struct gw_stood *stood)
{
    struct gw_rank *rank = &gang->ranks[index];
    rank->still = stood->still;
    gang->stood = true;
    rank->begun = stood->begun;
    rank->stopped = stood->stopped;
    rank->idle = stood->idle;
    rank->seen = stood->seen;
    rank->asked = rank->asked && stood->still;
    free(rank->stack);
    rank->stack = stack_new(stood->stack);
    (void)snprintf(rank->operation, sizeof rank->operation, "%.*s", (int)stood->operation.size,
                   stood->operation.size ? (const char *)stood->operation.data : "");
}

void gw_sched_gang_rank_ask(struct gw_gang_attempt *gang, uint32_t rank)
{
    gang->ranks[rank].asked = true;
}
