/* Attempts of gangs.
 *
 * All ranks are placed in one fact. They prepare; when all stand, they go, with rank 0's token and
 * info. How they end is in gang_end.c. */
#include "scheduler/core/gang_try.h"

#include "scheduler/core/ageing.h"
#include "scheduler/core/attempt.h"
#include "scheduler/core/checkpoint.h"
#include "scheduler/core/cooling.h"
#include "scheduler/core/elastic.h"
#include "scheduler/core/gang_end.h"
#include "scheduler/core/gpu.h"
#include "scheduler/core/hang.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_rare.h"
#include "scheduler/core/object.h"
#include "scheduler/core/outbox.h"
#include "scheduler/core/question.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/reservation.h"
#include "scheduler/core/story.h"
#include "scheduler/core/task.h"

#include <assert.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOOR_BYTES_MAX = 80 };

static const struct gw_sm_state gang_states[] = {
    [GW_GANG_PREPARING] = {"preparing", GW_SM_NEXT(GW_GANG_READY) | GW_SM_NEXT(GW_GANG_ENDING)},
    [GW_GANG_READY] = {"ready", GW_SM_NEXT(GW_GANG_GOING)},
    [GW_GANG_GOING] = {"going", GW_SM_NEXT(GW_GANG_ENDING) | GW_SM_NEXT(GW_GANG_ENDED)},
    [GW_GANG_ENDING] = {"ending", GW_SM_NEXT(GW_GANG_ENDED)},
    [GW_GANG_ENDED] = {"ended", 0},
    [GW_GANG_GATHERING] = {"gathering", GW_SM_NEXT(GW_GANG_GOING) | GW_SM_NEXT(GW_GANG_ENDING)},
};
struct gw_sm gw_sched_gang_sm = {"gang", gang_states, sizeof gang_states / sizeof *gang_states,
                                 NULL};

static char *own_text(const char *text)
{
    char *copy = strdup(text ? text : "");
    GW_MUST_PTR(copy);
    return copy;
}

struct gw_gang_try *gw_sched_gang_of(const struct gw_sched *sched, const struct gw_job *job,
                                     uint32_t row)
{
    uint64_t gang;
    if (job->tasks.state[row] != GW_TASK_PLACED && job->tasks.state[row] != GW_TASK_CANCELLING)
        return NULL;
    return gw_map_get(&sched->gangs, job->tasks.attempt[row], &gang)
               ? (struct gw_gang_try *)(uintptr_t)gang
               : NULL;
}

/* -- Placement -----------------------------------------------------------------------------------
 */

static void tell_gang(struct gw_sched *sched, const struct gw_gang_try *gang,
                      const struct gw_seat *seats)
{
    uint32_t groups = 0, group = 0;
    for (uint32_t i = 0; i < gang->count; i++)
        groups += i == 0 || seats[i].worker != seats[i - 1].worker;
    const struct gw_spec *spec = &gang->job->specs.items[gang->job->tasks.spec[gang->index]];
    const bool board_shared = gw_sched_gpu_board_shared(sched, gang);
    uint32_t *locals = gw_arena_alloc(&sched->effects->arena, groups * sizeof *locals);
    GW_MUST_PTR(locals);
    for (uint32_t i = 0, at = 0; i < gang->count; i++) {
        at += i > 0 && seats[i].worker != seats[i - 1].worker;
        locals[at] += 1;
    }
    for (uint32_t first = 0, end; first < gang->count; first = end, group++) {
        for (end = first; end < gang->count && seats[end].worker == seats[first].worker;)
            end++;
        struct gw_msg_gang *message =
            &gw_sched_send(sched, seats[first].worker->remote, GW_MESSAGE_gang)->gang;
        message->attempt = gang->id;
        message->world = gang->count;
        message->first_rank = first;
        message->local = end - first;
        message->group_rank = group;
        message->groups = groups;
        message->checkpoint = GW_PLANTED(193) ? 0 : gang->from_attempt;
        message->checkpoint_lost = gang->from_lost;
        if (first == 0)
            gw_sched_checkpoint_carry(sched, gang, message);
        message->board_shared = board_shared;
        message->commands = spec->message.kind == GW_SPEC_COMMAND;
        message->locals = (struct gw_col32){(const void *)locals, groups};
    }
}

void gw_sched_gang_place(struct gw_sched *sched, struct gw_queue *queue,
                         const struct gw_seat *seats, uint32_t count)
{
    struct gw_job *job = queue->job;
    uint32_t row = gw_bits_first(&queue->ready);
    GW_FACT(sched, gang_placed, .job = job, .index = row, .shape = queue->shape, .seats = seats,
            .seat_count = count);
    struct gw_gang_try *gang = gw_sched_gang_of(sched, job, row);
    gw_sched_checkpoint_ahead(sched, gang, seats[0].worker);
    tell_gang(sched, gang, seats);
    for (uint32_t i = 0; i < gang->count; i++)
        gw_sched_send_assign(sched, gang->ranks[i].slot);
}

/* Those that prepare, by deadline. */
static void enter_preparing(struct gw_sched *sched, struct gw_gang_try *gang, uint64_t limit_ns)
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

/* How long its ranks have to get ready. */
static uint64_t prepare_ns(const struct gw_sched *sched, const struct gw_gang_try *gang)
{
    return GW_GANG_PREPARE_NS + (gw_sched_checkpoint_carries(sched, gang) ? GW_GANG_CARRY_NS : 0);
}

void gw_sched_apply_gang_placed(struct gw_sched *sched, const struct gw_fact_gang_placed *fact)
{
    struct gw_job *job = fact->job;
    struct gw_tasks *tasks = &job->tasks;
    struct gw_gang_try *gang = calloc(1, sizeof *gang);
    GW_MUST_PTR(gang);
    gang->ranks = calloc(fact->seat_count, sizeof *gang->ranks);
    GW_MUST_PTR(gang->ranks);
    gang->job = job;
    gang->index = fact->index;
    gang->count = gang->live = fact->seat_count;
    gang->id = gw_sched_attempt_next(sched);
    gang->cause_rank = GW_NONE;
    for (uint32_t i = 0; i < gang->count; i++) {
        struct gw_worker *worker = fact->seats[i].worker;
        gang->ranks[i].worker = worker->id;
        gang->ranks[i].slot =
            gw_sched_attempt_add(sched, &(struct gw_attempt_new){.job = job,
                                                                 .index = fact->index,
                                                                 .rank = i,
                                                                 .worker = worker,
                                                                 .shape = fact->shape,
                                                                 .gang = gang,
                                                                 .is_long = true,
                                                                 .gpus = fact->seats[i].gpus});
        (void)gw_sched_inputs_fetch(sched, job, fact->index, worker);
        GW_MUST(gw_array_push(
            &job->places, ((struct gw_place){gang->id, fact->index, i, worker->id, NULL, false})));
    }
    gw_sched_questions_on_placed(sched, job);
    GW_MUST(gw_map_put(&sched->gangs, gang->id, (uintptr_t)gang));
    gw_sched_checkpoint_choose(sched, gang);
    enter_preparing(sched, gang, prepare_ns(sched, gang));

    struct gw_queue *queue = gw_sched_task_queue(sched, job, fact->index);
    gw_sched_queue_remove(sched, queue, fact->index);
    gw_sched_ageing_again(sched, queue);
    gw_sched_reservation_served(sched, job, fact->index);
    gw_sm_move(&gw_sched_task_sm, &tasks->state[fact->index], GW_TASK_PLACED);
    tasks->attempt[fact->index] = gang->id;
    tasks->charges[fact->index].tries++;
    gw_sched_story_gang(sched, gang);
    gw_sched_checkpoint_tell(sched, gang);
    job->placed++;
}

struct gw_gang_try *gw_sched_gang_find(const struct gw_sched *sched, uint64_t id)
{
    uint64_t value, other;
    size_t at = 0;
    if (GW_PLANTED(192))
        while (gw_map_next(&sched->gangs, &at, &other, &value))
            if (gw_sched_attempt_place(other) == gw_sched_attempt_place(id))
                return (struct gw_gang_try *)(uintptr_t)value;
    return gw_map_get(&sched->gangs, id, &value) ? (struct gw_gang_try *)(uintptr_t)value : NULL;
}

uint32_t gw_sched_gang_slot(const struct gw_sched *sched, const struct gw_worker *worker,
                            uint64_t attempt, uint32_t rank)
{
    const struct gw_gang_try *gang = gw_sched_gang_find(sched, attempt);
    if (!gang || rank >= gang->count || gang->ranks[rank].slot == GW_NONE)
        return GW_NONE;
    uint32_t slot = gang->ranks[rank].slot;
    return sched->attempts.items[slot].worker == worker ? slot : GW_NONE;
}

/* -- Standing, and going -------------------------------------------------------------------------
 */

/* Where the ranks of a command listen, as a list in their order; nothing where some have no door.
 */
static struct gw_bin pack_doors(struct gw_sched *sched, const struct gw_gang_try *gang)
{
    for (uint32_t i = 0; i < gang->count; i++)
        if (!gang->ranks[i].door)
            return (struct gw_bin){"", 0};
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    msgpack_sbuffer_init(&buffer);
    msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
    msgpack_pack_array(&packer, gang->count);
    for (uint32_t i = 0; i < gang->count; i++) {
        const uint32_t of = GW_PLANTED(280) ? (i + 1) % gang->count : i;
        const char *door = gang->ranks[of].door;
        msgpack_pack_str_with_body(&packer, door, strlen(door));
    }
    GW_MUST_PTR(buffer.data);
    struct gw_bin doors = gw_sched_bin(sched, (struct gw_bin){buffer.data, (uint32_t)buffer.size});
    msgpack_sbuffer_destroy(&buffer);
    return doors;
}

struct gw_went gw_sched_gang_went(const struct gw_job *job, uint32_t row)
{
    uint64_t value;
    if (!gw_map_get(&gw_job_rare(job)->wents, row, &value))
        return (struct gw_went){0};
    return *(const struct gw_went *)(uintptr_t)value;
}

void gw_sched_gang_goes(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                        struct gw_went went)
{
    if (job->detached) /* no other outlives this life */
        GW_FACT(sched, gang_went, .at = job, .job = job->id, .index = row, .attempt = went.attempt,
                .tries = went.tries);
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

static void go(struct gw_sched *sched, struct gw_gang_try *gang)
{
    struct gw_job *job = gang->job;
    GW_FACT(sched, gang_moved, .gang = gang, .state = GW_GANG_READY);
    GW_FACT(sched, gang_moved, .gang = gang, .state = GW_GANG_GOING);
    gw_sched_gang_goes(sched, job, gang->index,
                       (struct gw_went){gang->id, job->tasks.charges[gang->index].tries});
    gw_sched_checkpoint_on_go(sched, gang);
    const struct gw_worker *last = NULL;
    struct gw_bin info = gw_sched_bin(sched, (struct gw_bin){gang->info, gang->info_size});
    struct gw_bin doors = pack_doors(sched, gang);
    for (uint32_t i = 0; i < gang->count; i++) {
        const struct gw_worker *worker = sched->attempts.items[gang->ranks[i].slot].worker;
        if (worker == last)
            continue;
        last = worker;
        struct gw_message *message =
            gang->token ? gw_sched_send_with(sched, worker->remote, GW_MESSAGE_gang_go, gang->token)
                        : gw_sched_send(sched, worker->remote, GW_MESSAGE_gang_go);
        message->gang_go.attempt = gang->id;
        message->gang_go.info = info;
        message->gang_go.doors = doors;
    }
}

int gw_sched_gang_on_ready(struct gw_sched *sched, struct gw_worker *worker,
                           const struct gw_msg_rank_ready *ready)
{
    uint32_t slot = gw_sched_gang_slot(sched, worker, ready->attempt, ready->rank);
    struct gw_gang_try *gang = gw_sched_gang_find(sched, ready->attempt);
    const char *door = ready->door ? ready->door : "";
    if (strlen(door) > DOOR_BYTES_MAX)
        return GW_EPROTO;
    if (slot == GW_NONE || gang->state != GW_GANG_PREPARING || gang->ranks[ready->rank].ready)
        return 0;
    uint64_t token = 0;
    if (ready->rank == 0 && sched->event->token_count > 0) {
        token = sched->event->tokens[0];
        sched->tokens_kept = sched->event->token_count == 1;
    }
    GW_FACT(sched, rank_readied, .gang = gang, .rank = ready->rank, .info = ready->info,
            .token = token, .door = door);
    if (gang->ready == gang->count || (GW_PLANTED(6) && gang->ready + 1 == gang->count))
        go(sched, gang);
    return 0;
}

void gw_sched_apply_rank_readied(struct gw_sched *sched, const struct gw_fact_rank_readied *fact)
{
    struct gw_gang_try *gang = fact->gang;
    (void)sched;
    gang->ranks[fact->rank].ready = true;
    gang->ready++;
    if (*fact->door)
        gang->ranks[fact->rank].door = own_text(fact->door);
    if (fact->rank != 0)
        return;
    gang->token = fact->token;
    gang->info_size = fact->info.size;
    gang->info = malloc(fact->info.size + 1);
    GW_MUST_PTR(gang->info);
    if (fact->info.size)
        memcpy(gang->info, fact->info.data, fact->info.size);
}

static void leave_preparing(struct gw_sched *sched, struct gw_gang_try *gang)
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

void gw_sched_apply_gang_late(struct gw_sched *sched, const struct gw_fact_gang_late *fact)
{
    leave_preparing(sched, fact->gang);
    fact->gang->late = true;
    enter_preparing(sched, fact->gang, GW_HANG_LOOK_NS);
}

void gw_sched_apply_gang_moved(struct gw_sched *sched, const struct gw_fact_gang_moved *fact)
{
    struct gw_gang_try *gang = fact->gang;
    const bool gathered = gang->state == GW_GANG_GATHERING;
    if (gang->state == GW_GANG_PREPARING)
        leave_preparing(sched, gang);
    gw_sm_move(&gw_sched_gang_sm, &gang->state, fact->state);
    if (fact->state == GW_GANG_GOING)
        gang->went_ns = sched->now_ns;
    for (uint32_t i = 0; i < gang->count && gang->late; i++) /* it has come all the same */
        gang->ranks[i].asked = gang->ranks[i].seen = false;
    if (fact->state == GW_GANG_GOING && !gathered)
        GW_STORY(sched, gang->job, .kind = GW_STORY_GANG_STARTED, .index = gang->index,
                 .count = gang->count, .number = gw_sched_elastic_all(gang),
                 .try_number = gang->job->tasks.charges[gang->index].tries);
    if (fact->state != GW_GANG_ENDED)
        return;
    (void)gw_map_remove(&sched->gangs, gang->id);
    gw_sched_gang_free(gang);
}

/* -- What came of it -----------------------------------------------------------------------------
 */

static void keep_cause(struct gw_gang_try *gang, uint32_t rank, const struct gw_end *cause)
{
    gang->cause = *cause;
    gang->cause.text = own_text(cause->text);
    gang->cause.stderr_tail = own_text(cause->stderr_tail);
    gang->cause_rank = rank;
    gang->cause_worker = rank == GW_NONE ? 0 : gang->ranks[rank].worker;
}

static void free_cause(struct gw_gang_try *gang)
{
    char *texts[2];
    memcpy(&texts[0], &gang->cause.text, sizeof texts[0]);
    memcpy(&texts[1], &gang->cause.stderr_tail, sizeof texts[1]);
    free(texts[0]);
    free(texts[1]);
}

void gw_sched_apply_gang_ending(struct gw_sched *sched, const struct gw_fact_gang_ending *fact)
{
    struct gw_gang_try *gang = fact->gang;
    if (gang->state == GW_GANG_PREPARING)
        leave_preparing(sched, gang);
    gang->early = gang->state == GW_GANG_GOING && sched->now_ns - gang->went_ns <= GW_GANG_EARLY_NS;
    gw_sm_move(&gw_sched_gang_sm, &gang->state, GW_GANG_ENDING);
    keep_cause(gang, fact->rank, fact->cause);
}

void gw_sched_apply_gang_cause(struct gw_sched *sched, const struct gw_fact_gang_cause *fact)
{
    (void)sched;
    free_cause(fact->gang);
    keep_cause(fact->gang, fact->rank, fact->cause);
}

void gw_sched_apply_rank_finished(struct gw_sched *sched, const struct gw_fact_rank_finished *fact)
{
    struct gw_rank *rank = &fact->gang->ranks[fact->rank];
    (void)sched;
    rank->finished = true;
    rank->result = *fact->result;
    if (!fact->result->value)
        return;
    void *copy = malloc(fact->result->size + 1);
    GW_MUST_PTR(copy);
    if (fact->result->size)
        memcpy(copy, fact->result->value, fact->result->size);
    rank->result.value = copy;
}

void gw_sched_gang_free(struct gw_gang_try *gang)
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

/* The next attempt has its number: what ran counts, and nobody looks for output of this one. */
void gw_sched_apply_gang_unbegun(struct gw_sched *sched, const struct gw_fact_gang_unbegun *fact)
{
    const struct gw_gang_try *gang = fact->gang;
    struct gw_job *job = gang->job;
    (void)sched;
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

void gw_sched_gang_control(struct gw_sched *sched, const struct gw_gang_try *gang, uint32_t command)
{
    const struct gw_spec *spec = &gang->job->specs.items[gang->job->tasks.spec[gang->index]];
    const struct gw_worker *last = NULL;
    for (uint32_t i = 0; i < gang->count; i++) {
        if (gang->ranks[i].slot == GW_NONE)
            continue; /* it has ended */
        const struct gw_worker *worker = sched->attempts.items[gang->ranks[i].slot].worker;
        if (worker == last || (i > 0 && spec->message.kind == GW_SPEC_FUNCTION))
            continue;
        last = worker;
        gw_sched_send(sched, worker->remote, GW_MESSAGE_control)->control =
            (struct gw_msg_control){gang->id, command};
    }
}

int gw_sched_gang_on_paused(struct gw_sched *sched, const struct gw_worker *worker,
                            const struct gw_msg_rank_paused *paused)
{
    if (gw_sched_gang_slot(sched, worker, paused->attempt, paused->rank) == GW_NONE)
        return 0;
    struct gw_gang_try *gang = gw_sched_gang_find(sched, paused->attempt);
    if (paused->rank != 0 || gang->state == GW_GANG_PREPARING)
        return GW_EPROTO;
    GW_FACT(sched, gang_paused, .gang = gang);
    return 0;
}

void gw_sched_apply_gang_paused(struct gw_sched *sched, const struct gw_fact_gang_paused *fact)
{
    (void)sched;
    fact->gang->paused = !GW_PLANTED(195);
}

void gw_sched_apply_gang_port_taken(struct gw_sched *sched,
                                    const struct gw_fact_gang_port_taken *fact)
{
    (void)sched;
    fact->gang->port_taken = true;
}

void gw_sched_gangs_on_tick(struct gw_sched *sched)
{
    while (sched->preparing && sched->preparing->deadline_ns <= sched->now_ns) {
        struct gw_gang_try *gang = sched->preparing;
        if (!gang->late) {
            GW_FACT(sched, gang_late, .gang = gang);
            gw_sched_hang_ask_late(sched, gang);
        } else {
            gw_sched_gang_end_late(sched, gang);
        }
    }
}

void gw_sched_gang_end_late(struct gw_sched *sched, struct gw_gang_try *gang)
{
    char text[128], stacks[512];
    const uint32_t rank = gw_sched_hang_late(gang, stacks, sizeof stacks);
    (void)snprintf(text, sizeof text, "it did not get ready in %u s%s",
                   (unsigned)(prepare_ns(sched, gang) / GW_NS_PER_S),
                   gang->ranks[rank].stopped
                       ? ": its process is stopped (SIGSTOP, or a job control signal)"
                       : "");
    struct gw_end end = {
        .outcome = GW_OUTCOME_CRASHED, .executing = true, .text = text, .stderr_tail = stacks};
    GW_FACT(sched, gang_ending, .gang = gang, .rank = rank, .cause = &end);
    gw_sched_cooling_begin(sched, sched->attempts.items[gang->ranks[rank].slot].worker);
    gw_sched_gang_kill(sched, gang, &(struct gw_gang_kill){GW_FAIL_GRACE_NS, GW_KILL_GANG, &end});
}
