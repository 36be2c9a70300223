/* Current checkpoints: a fact names the attempt that saved, and only one that still counts can.
 *
 * What always holds: an attempt goes on from the newest that somebody alive has: home, whoever
 * saved it, or else the copy. From go on that is current, and its rank 0's worker is home: what
 * another host saved later, and nobody could reach, is over. Where nobody of these is there any
 * more, their next lives are asked, in the same order: they may have the same folders.
 * A worker that has it no more (carry_absent) is not asked for it again: it is as good as lost. */
#include "scheduler/core/checkpoint.h"

#include "graph/base/planted.h"
#include "graph/base/text.h"
#include "scheduler/core/assign.h"
#include "scheduler/core/elastic.h"
#include "scheduler/core/gang_try.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_rare.h"
#include "scheduler/core/outbox.h"
#include "scheduler/core/story.h"
#include "scheduler/core/task.h"
#include "scheduler/core/worker.h"
#include "scheduler/core/worker_name.h"

#include <stdio.h>
#include <string.h>

enum { UNSTEADY_TOLD = 3 }; /* so many copies failed in a row, the folder having changed */

const struct gw_checkpointed *gw_sched_checkpoint_of(const struct gw_job *job, uint32_t row)
{
    uint64_t value;
    return gw_map_get(&gw_job_rare(job)->checkpoints, row, &value)
               ? (const struct gw_checkpointed *)(uintptr_t)value
               : NULL;
}

static struct gw_checkpointed *record_of(struct gw_job *job, uint32_t row)
{
    const struct gw_checkpointed *known = gw_sched_checkpoint_of(job, row);
    struct gw_checkpointed *record = (struct gw_checkpointed *)(uintptr_t)known;
    if (record)
        return record;
    record = gw_arena_alloc(&job->arena, sizeof *record);
    GW_MUST_PTR(record);
    *record = (struct gw_checkpointed){0};
    GW_MUST(gw_map_put(&gw_job_rare_make(job)->checkpoints, row, (uintptr_t)record));
    return record;
}

static bool is_command(const struct gw_job *job, uint32_t row)
{
    return job->specs.items[job->tasks.spec[row]].message.kind == GW_SPEC_COMMAND;
}

/* -- Who has it ----------------------------------------------------------------------------------
 */

static bool is_at(const struct gw_checkpoint_place *place, const struct gw_worker *worker)
{
    return place->worker && place->incarnation == worker->incarnation &&
           strcmp(place->host, worker->host) == 0;
}

/* The worker by its name, which outlives its number. */
static const char *at(const struct gw_checkpoint_place *place, char text[static GW_WORKER_NAME_MAX])
{
    const bool same = strcmp(place->name, place->host) == 0;
    (void)snprintf(text, GW_WORKER_NAME_MAX, "%.100s%s%.100s", place->name, same ? "" : " on ",
                   same ? "" : place->host);
    return text;
}

/* What of it is there; of which step, of home, is the record's. */
struct lies {
    uint32_t which;
    uint64_t attempt;
    int64_t step;
};

static void put_at(struct gw_sched *sched, struct gw_job *job, uint32_t row, struct lies lies,
                   const struct gw_worker *worker)
{
    GW_FACT(sched, checkpoint_lies, .at = job, .job = job->id, .index = row, .which = lies.which,
            .attempt = lies.attempt, .step = (uint64_t)lies.step, .worker = worker->id,
            .incarnation = worker->incarnation, .host = worker->host, .name = worker->remote->name);
}

void gw_sched_apply_checkpoint_lies(struct gw_sched *sched,
                                    const struct gw_fact_checkpoint_lies *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    struct gw_checkpointed *record = record_of(job, fact->index);
    struct gw_checkpoint_place place = {.attempt = fact->attempt,
                                        .step = (int64_t)fact->step,
                                        .worker = fact->worker,
                                        .incarnation = fact->incarnation,
                                        .kept = fact->which == GW_CHECKPOINT_COPY};
    (void)snprintf(place.host, sizeof place.host, "%s", fact->host);
    (void)snprintf(place.name, sizeof place.name, "%s", fact->name);
    if (fact->which == GW_CHECKPOINT_COPY) {
        record->copy = place;
        return;
    }
    if (record->home.incarnation != place.incarnation || strcmp(record->home.host, place.host) != 0)
        record->shared = false;
    if (fact->which == GW_CHECKPOINT_SAVED)
        record->saver = place;
    else if (!record->saver.worker)
        record->saver = record->home;
    record->home = place;
    sched->leave_look_ns = 0;
}

void gw_sched_apply_checkpoint_shared(struct gw_sched *sched,
                                      const struct gw_fact_checkpoint_shared *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    record_of(job, fact->index)->shared = true;
}

/* The worker that has it, though it was away and has another id now; NULL: lost. Best of the
 * others: its next life, which may have the same folder. */
static struct gw_worker *holder(const struct gw_sched *sched,
                                const struct gw_checkpoint_place *place, struct gw_worker **beside)
{
    *beside = NULL;
    for (size_t i = 0; i < sched->workers.count && place->worker && !place->gone; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state == GW_WORKER_LOST)
            continue;
        if (strcmp(worker->host, place->host) != 0)
            continue;
        if (worker->incarnation == place->incarnation && GW_PLANTED(320))
            continue;
        if (worker->incarnation == place->incarnation)
            return worker;
        if (!*beside && strncmp(worker->remote->name, place->name, sizeof place->name - 1) == 0)
            *beside = worker;
    }
    return NULL;
}

/* What an attempt would go on from now. worker NULL: nobody is known to have it, or it is lost. */
struct source {
    struct gw_worker *worker, *beside;
    const struct gw_checkpoint_place *place;
    bool lost;
};

static struct source find_source(const struct gw_sched *sched, const struct gw_checkpointed *record)
{
    struct gw_worker *beside;
    struct source source = {.place = &record->home};
    source.worker = holder(sched, &record->home, &source.beside);
    if (source.worker || !record->home.worker || (record->shared && !record->home.gone))
        return source;
    const struct gw_checkpoint_place *others[] = {&record->saver, &record->copy};
    struct source next = {.worker = source.beside, .beside = source.beside, .place = &record->home};
    for (size_t i = 0; i < sizeof others / sizeof *others && !source.worker; i++) {
        source.worker = holder(sched, others[i], &beside);
        source.place = others[i];
        if (!next.worker && beside) {
            next.worker = beside;
            next.place = others[i];
        }
    }
    if (source.worker)
        return source;
    source = next;
    source.lost = !source.worker; /* of commands, which ran there, though nothing was ever told */
    return source;
}

uint32_t gw_sched_checkpoint_home(const struct gw_sched *sched, const struct gw_job *job,
                                  uint32_t row)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(job, row);
    if (!record)
        return 0;
    const struct source source = find_source(sched, record);
    return source.worker ? source.worker->id : source.beside ? source.beside->id : 0;
}

/* -- It was saved --------------------------------------------------------------------------------
 */

/* Another worker of the gang that could keep a copy: the one that has one, or else one on another
 * host, or else one that may have another folder there. */
static struct gw_worker *find_copier(const struct gw_sched *sched, const struct gw_gang_try *gang,
                                     const struct gw_checkpointed *record)
{
    struct gw_worker *best = NULL;
    bool apart = false;
    for (uint32_t i = 0; i < gang->count; i++) {
        struct gw_worker *worker = gw_sched_worker_find(sched, gang->ranks[i].worker);
        if (!worker || worker->state != GW_WORKER_READY || worker->leaves ||
            is_at(&record->home, worker))
            continue;
        if (is_at(&record->copy, worker))
            return worker;
        bool other_host = strcmp(worker->host, record->home.host) != 0;
        if (!best || (other_host && !apart))
            best = worker;
        apart = apart || other_host;
    }
    return best;
}

/* Whether it makes sense to carry the folder: of several commands of a job all have the same. */
static bool may_carry(const struct gw_job *job, uint32_t row)
{
    return !is_command(job, row) || job->tasks.count == 1;
}

static void make_copy(struct gw_sched *sched, const struct gw_gang_try *gang)
{
    struct gw_job *job = gang->job;
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(job, gang->index);
    struct gw_worker *beside;
    struct gw_worker *home = holder(sched, &record->home, &beside);
    const struct gw_worker *busy =
        record->copier ? gw_sched_worker_find(sched, record->copier) : NULL;
    if (!home || home->state != GW_WORKER_READY || record->shared || !record->attempt ||
        gang->state != GW_GANG_GOING || !may_carry(job, gang->index) ||
        (busy && busy->state == GW_WORKER_READY))
        return;
    struct gw_worker *copier = find_copier(sched, gang, record);
    if (!copier || (is_at(&record->copy, copier) && record->copy.attempt == record->attempt &&
                    record->copy.step == record->step && !record->copy.gone))
        return;
    GW_FACT(sched, checkpoint_copying, .job = job, .index = gang->index, .worker = copier);
    gw_sched_tell_neighbour(sched, copier, home);
    gw_sched_send(sched, copier->remote, GW_MESSAGE_carry)->carry = (struct gw_msg_carry){
        job->id,  gang->index, record->attempt, record->step, is_command(job, gang->index),
        home->id, false};
}

void gw_sched_apply_checkpoint_copying(struct gw_sched *sched,
                                       const struct gw_fact_checkpoint_copying *fact)
{
    struct gw_checkpointed *record = record_of(fact->job, fact->index);
    (void)sched;
    record->copier = fact->worker->id;
    record->passing = fact->leaving;
}

static void on_checkpointed(struct gw_sched *sched, const struct gw_worker *worker,
                            const struct gw_msg_checkpointed *message)
{
    uint32_t slot = gw_sched_gang_slot(sched, worker, message->attempt, message->rank);
    if (slot == GW_NONE || message->rank != 0)
        return;
    struct gw_job *job = sched->attempts.items[slot].job;
    uint32_t row = sched->attempts.items[slot].index;
    const struct gw_checkpointed *before = gw_sched_checkpoint_of(job, row);
    const bool moved = !before || !is_at(&before->home, worker) || before->home.gone;
    GW_FACT(sched, checkpoint_made, .at = job, .job = job->id, .index = row,
            .attempt = message->attempt, .step = (uint64_t)message->step);
    if (moved)
        put_at(sched, job, row, (struct lies){GW_CHECKPOINT_SAVED, message->attempt, message->step},
               worker);
    struct gw_gang_try *gang = gw_sched_gang_find(sched, message->attempt);
    make_copy(sched, gang);
    gw_sched_elastic_on_checkpoint(sched, gang);
}

void gw_sched_apply_checkpoint_made(struct gw_sched *sched,
                                    const struct gw_fact_checkpoint_made *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    struct gw_checkpointed *record = record_of(job, fact->index);
    record->attempt = record->home.attempt = fact->attempt;
    record->step = record->home.step = (int64_t)fact->step;
    record->saver = record->home;
    if (!fact->attempt) { /* a new beginning, in a folder that nobody knows yet */
        record->home = record->saver = record->copy = (struct gw_checkpoint_place){0};
        record->shared = false;
    }
}

static void on_carried(struct gw_sched *sched, struct gw_worker *worker,
                       const struct gw_msg_carried *message)
{
    struct gw_job *job = gw_sched_job_find(sched, message->job);
    const struct gw_checkpointed *record = job && message->index < job->tasks.count
                                               ? gw_sched_checkpoint_of(job, message->index)
                                               : NULL;
    if (!record || record->copier != worker->id)
        return;
    GW_FACT(sched, checkpoint_copied, .job = job, .index = message->index, .worker = worker,
            .carried = message);
    if (message->code == GW_EEXIST)
        GW_FACT(sched, checkpoint_shared, .at = job, .job = job->id, .index = message->index);
    else if (message->code == 0)
        put_at(sched, job, message->index,
               (struct lies){GW_CHECKPOINT_COPY, message->attempt, message->step}, worker);
    struct gw_gang_try *gang = gw_sched_gang_of(sched, job, message->index);
    if (gang && message->code == 0)
        make_copy(sched, gang);
}

static void on_absent(struct gw_sched *sched, const struct gw_worker *worker,
                      const struct gw_msg_carry_absent *message)
{
    if (gw_sched_gang_slot(sched, worker, message->attempt, 0) == GW_NONE)
        return;
    const struct gw_gang_try *gang = gw_sched_gang_find(sched, message->attempt);
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(gang->job, gang->index);
    if (!record || gang->state != GW_GANG_PREPARING)
        return;
    const struct source source = find_source(sched, record);
    const struct gw_worker *asked = source.worker;
    const bool kept = message->copy != 0;
    if (!asked || asked->id != message->worker || source.place->kept != kept)
        return;
    const bool other = !is_at(source.place, asked); /* which may have had the same folder */
    uint32_t places = kept ? 1U << GW_CHECKPOINT_COPY : 0;
    if (!kept && (other || is_at(&record->home, asked)))
        places |= 1U << GW_CHECKPOINT_HOME;
    if (!kept && (other || is_at(&record->saver, asked)))
        places |= 1U << GW_CHECKPOINT_SAVED;
    GW_FACT(sched, checkpoint_absent, .at = gang->job, .job = gang->job->id, .index = gang->index,
            .places = places, .worker = asked->id, .host = asked->host, .text = message->text);
}

void gw_sched_apply_checkpoint_absent(struct gw_sched *sched,
                                      const struct gw_fact_checkpoint_absent *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    struct gw_checkpointed *record = record_of(job, fact->index);
    char text[640], where[GW_WORKER_NAME_MAX];
    struct gw_checkpoint_place *places[] = {[GW_CHECKPOINT_SAVED] = &record->saver,
                                            [GW_CHECKPOINT_HOME] = &record->home,
                                            [GW_CHECKPOINT_COPY] = &record->copy};
    for (size_t i = 0; i < sizeof places / sizeof *places && !GW_PLANTED(380); i++)
        if (fact->places >> i & 1)
            places[i]->gone = true;
    const bool copy = fact->places >> GW_CHECKPOINT_COPY & 1;
    (void)snprintf(text, sizeof text, "%s HAS %s NO MORE: %.300s",
                   at(copy ? &record->copy : &record->home, where),
                   copy ? "ITS COPY OF THE CHECKPOINT" : "ITS CHECKPOINT", fact->text);
    GW_STORY(sched, job, .kind = GW_STORY_CHECKPOINT, .index = fact->index, .text = text);
}

void gw_sched_checkpoint_on_message(struct gw_sched *sched, struct gw_worker *worker,
                                    const struct gw_message *message)
{
    if (message->type == GW_MESSAGE_carried)
        on_carried(sched, worker, &message->carried);
    else if (message->type == GW_MESSAGE_carry_absent)
        on_absent(sched, worker, &message->carry_absent);
    else
        on_checkpointed(sched, worker, &message->checkpointed);
}

void gw_sched_apply_checkpoint_copied(struct gw_sched *sched,
                                      const struct gw_fact_checkpoint_copied *fact)
{
    struct gw_checkpointed *record = record_of(fact->job, fact->index);
    const struct gw_msg_carried *carried = fact->carried;
    char text[640], where[GW_WORKER_NAME_MAX];
    record->copier = 0;
    if (record->passing && carried->code != GW_EAGAIN && carried->code != GW_ELOST)
        record->passed = record->passing; /* it is there, or there is no use in asking others */
    record->passing = 0;
    sched->leave_look_ns = 0;
    if (carried->code == GW_EEXIST)
        return;
    if (carried->code == 0) {
        record->trouble[0] = '\0';
        record->unsteady = 0;
        if (is_at(&record->copy, fact->worker))
            return;
        (void)snprintf(text, sizeof text, "%s keeps a copy of its checkpoints, from here on",
                       gw_sched_worker_where(sched, fact->worker->id, where));
    } else {
        /* a folder that changed, or a worker that went, meanwhile: the next one will do; but one
         * that changes each time is told of, once */
        bool changes = carried->code == GW_EAGAIN && ++record->unsteady != UNSTEADY_TOLD;
        bool passing = changes || carried->code == GW_ELOST || carried->code == GW_ENOENT;
        if (passing || strncmp(record->trouble, carried->text, sizeof record->trouble - 1) == 0)
            return;
        (void)snprintf(record->trouble, sizeof record->trouble, "%s", carried->text);
        (void)snprintf(text, sizeof text, "NO COPY of its checkpoints is kept at %s: %.300s",
                       gw_sched_worker_where(sched, fact->worker->id, where), carried->text);
    }
    GW_STORY(sched, fact->job, .kind = GW_STORY_CHECKPOINT, .index = fact->index, .text = text);
}

/* -- An attempt goes on --------------------------------------------------------------------------
 */

/* Where its rank 0 has it from; NULL: it is there, or nobody can say. */
static struct gw_worker *carried_from(const struct gw_sched *sched, const struct gw_gang_try *gang,
                                      bool *kept)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(gang->job, gang->index);
    *kept = false;
    if (!record || !may_carry(gang->job, gang->index))
        return NULL;
    const struct source source = find_source(sched, record);
    *kept = source.place->kept;
    return source.worker && (*kept || source.worker->id != gang->ranks[0].worker) ? source.worker
                                                                                  : NULL;
}

/* Its rank 0 is where it lies, and looks whether it is still there; NULL: there is none, or it is
 * elsewhere. */
static const struct gw_worker *looked_at(const struct gw_sched *sched,
                                         const struct gw_gang_try *gang)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(gang->job, gang->index);
    if (!record || !gang->from_attempt || gang->from_lost || !may_carry(gang->job, gang->index))
        return NULL;
    const struct source source = find_source(sched, record);
    return source.worker && source.worker->id == gang->ranks[0].worker ? source.worker : NULL;
}

void gw_sched_checkpoint_choose(const struct gw_sched *sched, struct gw_gang_try *gang)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(gang->job, gang->index);
    if (!record)
        return;
    const struct source source = find_source(sched, record);
    const bool copy = source.place == &record->copy;
    gang->from_attempt = copy ? record->copy.attempt : record->attempt;
    gang->from_step = copy ? record->copy.step : record->step;
    gang->from_lost = source.lost;
}

bool gw_sched_checkpoint_carries(const struct gw_sched *sched, const struct gw_gang_try *gang)
{
    bool kept;
    return carried_from(sched, gang, &kept) != NULL;
}

void gw_sched_checkpoint_tell(struct gw_sched *sched, const struct gw_gang_try *gang)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(gang->job, gang->index);
    bool kept;
    char text[640], step[64] = "", where[GW_WORKER_NAME_MAX], to[GW_WORKER_NAME_MAX];
    const struct gw_worker *from = carried_from(sched, gang, &kept);
    if (gang->from_lost)
        GW_STORY(sched, gang->job, .kind = GW_STORY_CHECKPOINT_LOST, .index = gang->index,
                 .number = (uint64_t)record->step, .count = is_command(gang->job, gang->index),
                 .text = at(&record->home, where),
                 .detail = !record->attempt    ? GW_STORY_LOST_UNSEEN
                           : record->home.gone ? GW_STORY_LOST_FOLDER
                                               : GW_STORY_LOST_WITH_WORKER);
    if (!from)
        return;
    if (!is_command(gang->job, gang->index))
        (void)snprintf(step, sizeof step, " of step %lld", (long long)gang->from_step);
    if (find_source(sched, record).place == &record->copy)
        (void)snprintf(
            text, sizeof text,
            "%.100s, which saved its last checkpoint, %s: it goes on from the copy%s that "
            "%s kept",
            record->home.name, record->home.gone ? "has it no more" : "is lost", step,
            gw_sched_worker_where(sched, from->id, where));
    else
        (void)snprintf(text, sizeof text,
                       "its checkpoint%s is carried from %s to %s, before any rank starts, unless "
                       "they share the folder",
                       step, gw_sched_worker_where(sched, from->id, where),
                       gw_sched_worker_name(sched, gang->ranks[0].worker, to));
    GW_STORY(sched, gang->job, .kind = GW_STORY_CHECKPOINT, .index = gang->index, .text = text);
}

void gw_sched_checkpoint_ahead(struct gw_sched *sched, const struct gw_gang_try *gang,
                               struct gw_worker *worker)
{
    bool kept;
    struct gw_worker *from = carried_from(sched, gang, &kept);
    if (from)
        gw_sched_tell_neighbour(sched, worker, from);
}

void gw_sched_checkpoint_carry(struct gw_sched *sched, const struct gw_gang_try *gang,
                               struct gw_msg_gang *message)
{
    bool kept;
    const struct gw_worker *from = carried_from(sched, gang, &kept);
    if (!from)
        from = looked_at(sched, gang);
    if (!from)
        return;
    message->carry_worker = from->id;
    message->carry_copy = kept;
    message->carry_job = gang->job->id;
    message->carry_index = gang->index;
}

void gw_sched_checkpoint_on_go(struct gw_sched *sched, const struct gw_gang_try *gang)
{
    struct gw_job *job = gang->job;
    const struct gw_worker *worker = gw_sched_worker_find(sched, gang->ranks[0].worker);
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(job, gang->index);
    const bool command = is_command(job, gang->index), known = record && record->home.worker;
    struct lies lies = {GW_CHECKPOINT_HOME, gang->from_attempt, gang->from_step};
    if (command && gang->from_lost) { /* they begin anew, in a folder that nobody else knows */
        lies = (struct lies){.which = GW_CHECKPOINT_HOME};
        GW_FACT(sched, checkpoint_made, .at = job, .job = job->id, .index = gang->index);
    } else if (!gang->from_lost && record &&
               (record->attempt != gang->from_attempt || record->step != gang->from_step)) {
        lies.which = GW_CHECKPOINT_SAVED;
        GW_FACT(sched, checkpoint_made, .at = job, .job = job->id, .index = gang->index,
                .attempt = gang->from_attempt, .step = (uint64_t)gang->from_step);
    }
    if (!worker || (!command && (!known || !gang->from_attempt || gang->from_lost)))
        return;
    record = gw_sched_checkpoint_of(job, gang->index);
    if (lies.which == GW_CHECKPOINT_SAVED || !record || !is_at(&record->home, worker))
        put_at(sched, job, gang->index, lies, worker);
}

/* -- A worker leaves -----------------------------------------------------------------------------
 */

/* Another worker for what one has that leaves; best the one that has some of it, or else one on
 * another host. */
static struct gw_worker *find_keeper(const struct gw_sched *sched,
                                     const struct gw_checkpointed *record,
                                     const struct gw_worker *leaving)
{
    struct gw_worker *best = NULL;
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_READY || worker->leaves)
            continue;
        if (is_at(&record->copy, worker))
            return worker;
        if (!best ||
            (strcmp(best->host, leaving->host) == 0 && strcmp(worker->host, leaving->host) != 0))
            best = worker;
    }
    return best;
}

/* Whether somebody who stays has all that it has. What commands saved when they were told to end,
 * nobody has seen: of theirs only what was copied since counts. */
static bool is_copied(const struct gw_sched *sched, const struct gw_checkpointed *record,
                      bool command)
{
    struct gw_worker *beside;
    const struct gw_worker *worker = holder(sched, &record->copy, &beside);
    return worker && worker->state == GW_WORKER_READY && !worker->leaves && !command &&
           record->copy.attempt == record->attempt && record->copy.step == record->step;
}

static bool hand_over(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                      struct gw_worker *leaving)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(job, row);
    const bool command = is_command(job, row);
    const struct gw_worker *busy =
        record->copier ? gw_sched_worker_find(sched, record->copier) : NULL;
    if (gw_sched_task_final(job, row) || !may_carry(job, row) || record->shared ||
        record->passed == leaving->id || (!command && !record->attempt))
        return false;
    const struct source source = find_source(sched, record);
    if (source.worker != leaving || (!source.place->kept && is_copied(sched, record, command)))
        return false;
    if (gw_sched_gang_of(sched, job, row) || (busy && busy->state == GW_WORKER_READY))
        return true; /* it starts elsewhere, or somebody takes it */
    struct gw_worker *keeper = find_keeper(sched, record, leaving);
    if (!keeper)
        return false;
    GW_FACT(sched, checkpoint_copying, .job = job, .index = row, .worker = keeper,
            .leaving = leaving->id);
    gw_sched_tell_neighbour(sched, keeper, leaving);
    gw_sched_send(sched, keeper->remote, GW_MESSAGE_carry)->carry =
        (struct gw_msg_carry){job->id, row,         source.place->attempt, source.place->step,
                              command, leaving->id, source.place->kept};
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

/* -- In words ------------------------------------------------------------------------------------
 */

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
    if (is_command(job, row))
        gw_text_say(&text, "; its checkpoints were seen to change");
    else
        gw_text_say(&text, "; its last checkpoint is of step %lld", (long long)record->step);
    if (record->home.gone)
        gw_text_say(&text, ", which %s has no more", at(&record->home, where));
    const struct gw_worker *copier = holder(sched, &record->copy, &beside);
    if (copier && !is_at(&record->home, copier) && !is_command(job, row))
        gw_text_say(&text, ", and %s has a copy of step %lld",
                    gw_sched_worker_where(sched, copier->id, where), (long long)record->copy.step);
    else if (copier && !is_at(&record->home, copier))
        gw_text_say(&text, ", and %s has a copy", gw_sched_worker_where(sched, copier->id, where));
    else if (record->trouble[0])
        gw_text_say(&text, "; no other host has a copy: %.200s", record->trouble);
}
