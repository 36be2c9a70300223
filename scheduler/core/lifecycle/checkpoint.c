/* The current checkpoint of each gang. A report of a new checkpoint is accepted only from the
 * current attempt of the gang.
 *
 * Invariants: an attempt continues from the newest checkpoint that a connected worker has. The
 * order is home (the worker of the last rank 0), then the worker that saved the checkpoint, then
 * the copy. When the attempt starts, this checkpoint is the current one and the worker of its rank
 * 0 becomes home. A newer checkpoint at an unreachable host is then obsolete. If none of the three
 * workers is connected, a worker with the same host and name is asked, in the same order, because
 * it may use the same folder.
 *
 * A worker that reports the checkpoint as absent (transfer_absent) is not asked for it again. */
#include "scheduler/core/lifecycle/checkpoint.h"

#include "graph/base/text.h"
#include "scheduler/core/lifecycle/gang_growth.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/assign.h"
#include "scheduler/core/send/send.h"

#include <string.h>

/* -- A checkpoint was saved ---------------------------------------------------------------- */

/* Returns the worker of the gang that should keep a copy: a worker that has an older copy,
 * otherwise one on another host, otherwise one on the same host that may use another folder.
 * Returns NULL if there is none. */
static struct gw_worker *find_copier(const struct gw_sched *sched,
                                     const struct gw_gang_attempt *gang,
                                     const struct gw_checkpointed *record)
{
    struct gw_worker *best = NULL;
    bool apart = false;
    for (uint32_t i = 0; i < gang->count; i++) {
        struct gw_worker *worker = gw_sched_worker_find(sched, gang->ranks[i].worker);
        if (!worker || worker->state != GW_WORKER_READY || worker->leaves ||
            gw_sched_checkpoint_is_at(&record->home, worker))
            continue;
        if (gw_sched_checkpoint_is_at(&record->copy, worker))
            return worker;
        bool other_host = strcmp(worker->host, record->home.host) != 0;
        if (!best || (other_host && !apart))
            best = worker;
        apart = apart || other_host;
    }
    return best;
}

static void make_copy(struct gw_sched *sched, const struct gw_gang_attempt *gang)
{
    struct gw_job *job = gang->job;
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(job, gang->index);
    struct gw_worker *beside;
    struct gw_worker *home = gw_sched_checkpoint_holder(sched, &record->home, &beside);
    const struct gw_worker *busy =
        record->copier ? gw_sched_worker_find(sched, record->copier) : NULL;
    if (!home || home->state != GW_WORKER_READY || record->shared || !record->attempt ||
        gang->state != GW_GANG_RUNNING || (busy && busy->state == GW_WORKER_READY))
        return;
    struct gw_worker *copier = find_copier(sched, gang, record);
    if (!copier || (gw_sched_checkpoint_is_at(&record->copy, copier) &&
                    record->copy.attempt == record->attempt && record->copy.step == record->step &&
                    !record->copy.gone))
        return;
    gw_sched_checkpoint_copying(job, gang->index, copier, 0);
    gw_sched_assign_neighbour(sched, copier, home);
    gw_sched_send(sched, copier->remote, GW_MESSAGE_checkpoint_transfer)->checkpoint_transfer =
        (struct gw_msg_checkpoint_transfer){
            .job = job->id,
            .index = gang->index,
            .attempt = record->attempt,
            .step = record->step,
            .commands = gw_sched_checkpoint_of_command(job, gang->index),
            .worker = home->id,
            .user = gw_sched_assign_user(sched, job, copier),
        };
}

static void on_checkpointed(struct gw_sched *sched, const struct gw_worker *worker,
                            const struct gw_msg_checkpointed *message)
{
    uint32_t slot = gw_sched_gang_slot(sched, worker, message->attempt, message->rank);
    if (slot == GW_NO_INDEX || message->rank != 0)
        return;
    struct gw_job *job = sched->attempts.items[slot].job;
    uint32_t row = sched->attempts.items[slot].index;
    const struct gw_checkpointed *before = gw_sched_checkpoint_of(job, row);
    const bool moved =
        !before || !gw_sched_checkpoint_is_at(&before->home, worker) || before->home.gone;
    GW_FACT(sched, checkpoint_made, .at = job, .job = job->id, .index = row,
            .attempt = message->attempt, .step = (uint64_t)message->step);
    if (moved)
        gw_sched_checkpoint_put(
            sched, job, row,
            (struct gw_checkpoint_lies){GW_CHECKPOINT_SAVED, message->attempt, message->step},
            worker);
    struct gw_gang_attempt *gang = gw_sched_gang_find(sched, message->attempt);
    make_copy(sched, gang);
    gw_sched_gang_growth_on_checkpoint(sched, gang);
}

static void on_transferred(struct gw_sched *sched, struct gw_worker *worker,
                           const struct gw_msg_checkpoint_transferred *message)
{
    struct gw_job *job = gw_sched_job_find(sched, message->job);
    const struct gw_checkpointed *record = job && message->index < job->tasks.count
                                               ? gw_sched_checkpoint_of(job, message->index)
                                               : NULL;
    if (!record || record->copier != worker->id)
        return;
    gw_sched_checkpoint_copied(sched, job, message->index, worker, message);
    if (message->code == GW_EEXIST)
        GW_FACT(sched, checkpoint_shared, .at = job, .job = job->id, .index = message->index);
    else if (message->code == 0)
        gw_sched_checkpoint_put(
            sched, job, message->index,
            (struct gw_checkpoint_lies){GW_CHECKPOINT_COPY, message->attempt, message->step},
            worker);
    struct gw_gang_attempt *gang = gw_sched_gang_of(sched, job, message->index);
    if (gang && message->code == 0)
        make_copy(sched, gang);
}

static void on_absent(struct gw_sched *sched, const struct gw_worker *worker,
                      const struct gw_msg_transfer_absent *message)
{
    if (gw_sched_gang_slot(sched, worker, message->attempt, 0) == GW_NO_INDEX)
        return;
    const struct gw_gang_attempt *gang = gw_sched_gang_find(sched, message->attempt);
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(gang->job, gang->index);
    if (!record || gang->state != GW_GANG_PREPARING)
        return;
    const struct gw_checkpoint_source source = gw_sched_checkpoint_source(sched, record);
    const struct gw_worker *asked = source.worker;
    const bool is_copy = message->copy != 0;
    if (!asked || asked->id != message->worker || source.place->is_copy != is_copy)
        return;
    /* The worker may be a successor of the recorded one that uses the same folder. */
    const bool other = !gw_sched_checkpoint_is_at(source.place, asked);
    uint32_t places = is_copy ? 1U << GW_CHECKPOINT_COPY : 0;
    if (!is_copy && (other || gw_sched_checkpoint_is_at(&record->home, asked)))
        places |= 1U << GW_CHECKPOINT_HOME;
    if (!is_copy && (other || gw_sched_checkpoint_is_at(&record->saver, asked)))
        places |= 1U << GW_CHECKPOINT_SAVED;
    GW_FACT(sched, checkpoint_absent, .at = gang->job, .job = gang->job->id, .index = gang->index,
            .places = places, .worker = asked->id, .host = asked->host, .text = message->text);
}

void gw_sched_checkpoint_on_message(struct gw_sched *sched, struct gw_worker *worker,
                                    const struct gw_message *message)
{
    if (message->type == GW_MESSAGE_checkpoint_transferred)
        on_transferred(sched, worker, &message->checkpoint_transferred);
    else if (message->type == GW_MESSAGE_transfer_absent)
        on_absent(sched, worker, &message->transfer_absent);
    else
        on_checkpointed(sched, worker, &message->checkpointed);
}

/* -- The next attempt ---------------------------------------------------------------------- */

void gw_sched_checkpoint_on_ready(struct gw_sched *sched, const struct gw_gang_attempt *gang)
{
    for (uint32_t i = 1; i < gang->count && gang->mirrors; i++) {
        if (gang->ranks[i].worker == gang->ranks[i - 1].worker ||
            gang->ranks[i].worker == gang->ranks[0].worker || gang->ranks[i].slot == GW_NO_INDEX)
            continue;
        const struct gw_worker *worker = sched->attempts.items[gang->ranks[i].slot].worker;
        gw_sched_send(sched, worker->remote, GW_MESSAGE_transfer_go)->transfer_go =
            (struct gw_msg_transfer_go){gang->id};
    }
}

void gw_sched_checkpoint_on_unseen(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(job, row);
    if (record && record->member_count)
        gw_sched_checkpoint_forget_members(sched, job, row);
}

void gw_sched_checkpoint_on_adopted(struct gw_sched *sched, const struct gw_gang_attempt *gang,
                                    uint32_t rank, const struct gw_worker *worker)
{
    struct gw_job *job = gang->job;
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(job, gang->index);
    if (!gw_sched_checkpoint_of_command(job, gang->index))
        return;
    if (rank == 0 && (!record || !gw_sched_checkpoint_is_at(&record->home, worker)))
        gw_sched_checkpoint_put(sched, job, gang->index,
                                (struct gw_checkpoint_lies){GW_CHECKPOINT_HOME,
                                                            record ? record->attempt : 0,
                                                            record ? record->step : 0},
                                worker);
    bool known = rank == 0 || worker->id == gang->ranks[0].worker;
    for (uint32_t i = 0; !known && record && i < record->member_count; i++)
        known = gw_sched_checkpoint_is_at(&record->members[i], worker);
    if (!known)
        gw_sched_checkpoint_put(sched, job, gang->index,
                                (struct gw_checkpoint_lies){.which = GW_CHECKPOINT_MEMBER}, worker);
}

/* -- A worker leaves ----------------------------------------------------------------------- */

/* Returns the worker that should copy a checkpoint of a departing worker: a worker that has an
 * older copy, otherwise one on another host, otherwise any. Returns NULL if there is none. */
static struct gw_worker *find_keeper(const struct gw_sched *sched,
                                     const struct gw_checkpointed *record,
                                     const struct gw_worker *leaving)
{
    struct gw_worker *best = NULL;
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_READY || worker->leaves)
            continue;
        if (gw_sched_checkpoint_is_at(&record->copy, worker))
            return worker;
        if (!best ||
            (strcmp(best->host, leaving->host) == 0 && strcmp(worker->host, leaving->host) != 0))
            best = worker;
    }
    return best;
}

/* Returns true if a worker that stays has a complete copy. For commands the result is always false,
 * because the scheduler does not see what a command saves when it is told to end. */
static bool is_copied(const struct gw_sched *sched, const struct gw_checkpointed *record,
                      bool command)
{
    struct gw_worker *beside;
    const struct gw_worker *worker = gw_sched_checkpoint_holder(sched, &record->copy, &beside);
    return worker && worker->state == GW_WORKER_READY && !worker->leaves && !command &&
           record->copy.attempt == record->attempt && record->copy.step == record->step;
}

static bool hand_over(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                      struct gw_worker *leaving)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(job, row);
    const bool command = gw_sched_checkpoint_of_command(job, row);
    const struct gw_worker *busy =
        record->copier ? gw_sched_worker_find(sched, record->copier) : NULL;
    if (gw_sched_task_final(job, row) || record->shared || record->passed == leaving->id ||
        (!command && !record->attempt))
        return false;
    const struct gw_checkpoint_source source = gw_sched_checkpoint_source(sched, record);
    if (source.worker != leaving || (!source.place->is_copy && is_copied(sched, record, command)))
        return false;
    /* The checkpoint is in use: the next attempt of the gang or a copying worker fetches it. */
    if (gw_sched_gang_of(sched, job, row) || (busy && busy->state == GW_WORKER_READY))
        return true;
    struct gw_worker *keeper = find_keeper(sched, record, leaving);
    if (!keeper)
        return false;
    gw_sched_checkpoint_copying(job, row, keeper, leaving->id);
    gw_sched_assign_neighbour(sched, keeper, leaving);
    gw_sched_send(sched, keeper->remote, GW_MESSAGE_checkpoint_transfer)->checkpoint_transfer =
        (struct gw_msg_checkpoint_transfer){
            .job = job->id,
            .index = row,
            .attempt = source.place->attempt,
            .step = source.place->step,
            .commands = command,
            .worker = leaving->id,
            .copy = source.place->is_copy,
            .user = gw_sched_assign_user(sched, job, keeper),
        };
    return true;
}

bool gw_sched_checkpoint_hand_over(struct gw_sched *sched, struct gw_worker *worker)
{
    bool waits = false;
    for (struct gw_job *job = sched->first_job; job; job = job->next) {
        size_t at = 0;
        uint64_t row, value;
        while (gw_map_next(&gw_job_rare(job)->checkpoints, &at, &row, &value))
            waits = hand_over(sched, job, (uint32_t)row, worker) || waits;
    }
    return waits;
}

/* -- Text for explain ---------------------------------------------------------------------- */

void gw_sched_checkpoint_explain(const struct gw_sched *sched, const struct gw_job *job,
                                 uint32_t row, char *to, size_t bytes)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(job, row);
    struct gw_text text = {to, bytes, 0};
    struct gw_worker *beside;
    char where[GW_WORKER_NAME_MAX];
    *to = '\0';
    if (!record || !record->attempt)
        return;
    if (gw_sched_checkpoint_of_command(job, row))
        gw_text_say(&text, "; its worker has seen new checkpoints");
    else
        gw_text_say(&text, "; its last checkpoint is of step %lld", (long long)record->step);
    if (record->home.gone)
        gw_text_say(&text, ", which %s does not have any more",
                    gw_sched_checkpoint_at(&record->home, where));
    const struct gw_worker *copier = gw_sched_checkpoint_holder(sched, &record->copy, &beside);
    if (copier && !gw_sched_checkpoint_is_at(&record->home, copier) &&
        !gw_sched_checkpoint_of_command(job, row))
        gw_text_say(&text, ", and %s has a copy of step %lld",
                    gw_sched_worker_where(sched, copier->id, where), (long long)record->copy.step);
    else if (copier && !gw_sched_checkpoint_is_at(&record->home, copier))
        gw_text_say(&text, ", and %s has a copy", gw_sched_worker_where(sched, copier->id, where));
    else if (record->trouble[0])
        gw_text_say(&text, "; no other host has a copy: %.200s", record->trouble);
    if (gw_sched_checkpoint_of_command(job, row))
        gw_text_say(&text, "; `gangway get %llu/%u --checkpoint` fetches them",
                    (unsigned long long)job->id, row);
}
