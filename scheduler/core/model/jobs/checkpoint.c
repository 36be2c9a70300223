/* Records which workers have checkpoints of gangs. */
#include "scheduler/core/model/jobs/checkpoint.h"

#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/worker_name.h"
#include "scheduler/core/model/workers/worker.h"

#include <stdio.h>
#include <string.h>

enum {
    UNSTEADY_TOLD = 3
}; /* if so many attempts to copy a checkpoint failed because its folder changed, the failure is
      reported */

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

bool gw_sched_checkpoint_of_command(const struct gw_job *job, uint32_t row)
{
    return job->specs.items[job->tasks.spec[row]].message.kind == GW_SPEC_COMMAND;
}

bool gw_sched_checkpoint_is_at(const struct gw_checkpoint_place *place,
                               const struct gw_worker *worker)
{
    return place->worker && place->incarnation == worker->incarnation &&
           strcmp(place->host, worker->host) == 0;
}

/* Names the worker by its name, because its id may change. */
const char *gw_sched_checkpoint_at(const struct gw_checkpoint_place *place,
                                   char text[static GW_WORKER_NAME_MAX])
{
    const bool same = strcmp(place->name, place->host) == 0;
    (void)snprintf(text, GW_WORKER_NAME_MAX, "%.100s%s%.100s", place->name, same ? "" : " on ",
                   same ? "" : place->host);
    return text;
}

void gw_sched_checkpoint_put(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                             struct gw_checkpoint_lies lies, const struct gw_worker *worker)
{
    GW_FACT(sched, checkpoint_lies, .at = job, .job = job->id, .index = row, .which = lies.which,
            .attempt = lies.attempt, .step = (uint64_t)lies.step, .worker = worker->id,
            .incarnation = worker->incarnation, .host = worker->host, .name = worker->remote->name);
}

static void add_member(struct gw_job *job, struct gw_checkpointed *record,
                       const struct gw_checkpoint_place *place)
{
    if (record->member_count == record->member_room) {
        const uint32_t room = record->member_room ? 2 * record->member_room : 4;
        struct gw_checkpoint_place *members = gw_arena_alloc(&job->arena, room * sizeof *members);
        GW_MUST_PTR(members);
        if (record->member_count)
            memcpy(members, record->members, record->member_count * sizeof *members);
        record->members = members;
        record->member_room = room;
    }
    record->members[record->member_count++] = *place;
}

void gw_sched_apply_checkpoint_lies(struct gw_sched *sched,
                                    const struct gw_fact_checkpoint_lies *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    struct gw_checkpointed *record = record_of(job, fact->index);
    if (fact->which == GW_CHECKPOINT_NOBODY) {
        record->member_count = 0;
        return;
    }
    struct gw_checkpoint_place place = {.attempt = fact->attempt,
                                        .step = (int64_t)fact->step,
                                        .worker = fact->worker,
                                        .incarnation = fact->incarnation,
                                        .is_copy = fact->which == GW_CHECKPOINT_COPY};
    (void)snprintf(place.host, sizeof place.host, "%s", fact->host);
    (void)snprintf(place.name, sizeof place.name, "%s", fact->name);
    if (fact->which == GW_CHECKPOINT_COPY)
        record->copy = place;
    else if (fact->which == GW_CHECKPOINT_MEMBER)
        add_member(job, record, &place);
    if (fact->which >= GW_CHECKPOINT_COPY)
        return;
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

/* Finds the connected worker that has a checkpoint, also if it has reconnected with another id.
 * Returns NULL if it is lost. *beside: in this case, a later incarnation of the worker, which may
 * have the same folder. */
struct gw_worker *gw_sched_checkpoint_holder(const struct gw_sched *sched,
                                             const struct gw_checkpoint_place *place,
                                             struct gw_worker **beside)
{
    *beside = NULL;
    for (size_t i = 0; i < sched->workers.count && place->worker && !place->gone; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state == GW_WORKER_LOST)
            continue;
        if (strcmp(worker->host, place->host) != 0)
            continue;
        if (worker->incarnation == place->incarnation)
            return worker;
        if (!*beside && strncmp(worker->remote->name, place->name, sizeof place->name - 1) == 0)
            *beside = worker;
    }
    return NULL;
}

struct gw_checkpoint_source gw_sched_checkpoint_source(const struct gw_sched *sched,
                                                       const struct gw_checkpointed *record)
{
    struct gw_worker *beside;
    struct gw_checkpoint_source source = {.place = &record->home};
    source.worker = gw_sched_checkpoint_holder(sched, &record->home, &source.beside);
    if (source.worker || !record->home.worker || (record->shared && !record->home.gone))
        return source;
    const struct gw_checkpoint_place *others[] = {&record->saver, &record->copy};
    struct gw_checkpoint_source next = {
        .worker = source.beside, .beside = source.beside, .place = &record->home};
    for (size_t i = 0; i < sizeof others / sizeof *others && !source.worker; i++) {
        source.worker = gw_sched_checkpoint_holder(sched, others[i], &beside);
        source.place = others[i];
        if (!next.worker && beside) {
            next.worker = beside;
            next.place = others[i];
        }
    }
    if (source.worker)
        return source;
    source = next;
    /* Commands: they ran there, although no checkpoint was reported. */
    source.lost = !source.worker;
    return source;
}

uint32_t gw_sched_checkpoint_home(const struct gw_sched *sched, const struct gw_job *job,
                                  uint32_t row)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(job, row);
    if (!record)
        return 0;
    const struct gw_checkpoint_source source = gw_sched_checkpoint_source(sched, record);
    return source.worker ? source.worker->id : source.beside ? source.beside->id : 0;
}

void gw_sched_checkpoint_copying(struct gw_job *job, uint32_t index, const struct gw_worker *worker,
                                 uint32_t leaving)
{
    struct gw_checkpointed *record = record_of(job, index);
    record->copier = worker->id;
    record->passing = leaving;
}

void gw_sched_apply_checkpoint_made(struct gw_sched *sched,
                                    const struct gw_fact_checkpoint_made *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    struct gw_checkpointed *record = record_of(job, fact->index);
    record->attempt = record->home.attempt = fact->attempt;
    record->step = record->home.step = (int64_t)fact->step;
    record->saver = record->home;
    record->saved_ns = sched->restoring ? 0 : sched->now_ns;
    if (!fact->attempt) { /* the gang restarts from the beginning, in a folder that no other worker
                             has */
        record->home = record->saver = record->copy = (struct gw_checkpoint_place){0};
        record->shared = false;
    }
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
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (fact->places >> i & 1)
            places[i]->gone = true;
    const bool copy = fact->places >> GW_CHECKPOINT_COPY & 1;
    (void)snprintf(text, sizeof text, "%s DOES NOT HAVE %s ANY MORE: %.300s",
                   gw_sched_checkpoint_at(copy ? &record->copy : &record->home, where),
                   copy ? "ITS COPY OF THE CHECKPOINT" : "ITS CHECKPOINT", fact->text);
    GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_CHECKPOINT, .index = fact->index, .text = text);
}

void gw_sched_checkpoint_copied(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                                const struct gw_worker *worker,
                                const struct gw_msg_checkpoint_transferred *end)
{
    struct gw_checkpointed *record = record_of(job, index);
    char text[640], where[GW_WORKER_NAME_MAX];
    record->copier = 0;
    if (record->passing && end->code != GW_EAGAIN && end->code != GW_ELOST)
        record->passed = record->passing; /* the copy exists, or asking other workers is useless */
    record->passing = 0;
    sched->leave_look_ns = 0;
    if (end->code == GW_EEXIST)
        return;
    if (end->code == 0) {
        record->trouble[0] = '\0';
        record->unsteady = 0;
        if (gw_sched_checkpoint_is_at(&record->copy, worker))
            return;
        (void)snprintf(text, sizeof text, "%s keeps a copy of its checkpoints from now on",
                       gw_sched_worker_where(sched, worker->id, where));
    } else {
        /* If the folder changed during the copy or a worker was lost, the next copy will succeed.
         * If the folder changes every time, this is reported once. */
        bool changes = end->code == GW_EAGAIN && ++record->unsteady != UNSTEADY_TOLD;
        bool passing = changes || end->code == GW_ELOST || end->code == GW_ENOENT;
        if (passing || strncmp(record->trouble, end->text, sizeof record->trouble - 1) == 0)
            return;
        (void)snprintf(record->trouble, sizeof record->trouble, "%s", end->text);
        (void)snprintf(text, sizeof text, "NO COPY of its checkpoints is kept at %s: %.300s",
                       gw_sched_worker_where(sched, worker->id, where), end->text);
    }
    GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_CHECKPOINT, .index = index, .text = text);
}

/* Returns the worker from which rank 0's worker gets the checkpoint. Returns NULL if rank 0's
 * worker has it or no worker is known to have it. */
struct gw_worker *gw_sched_checkpoint_transfer_source(const struct gw_sched *sched,
                                                      const struct gw_gang_attempt *gang,
                                                      bool *is_copy)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(gang->job, gang->index);
    *is_copy = false;
    if (!record)
        return NULL;
    const struct gw_checkpoint_source source = gw_sched_checkpoint_source(sched, record);
    *is_copy = source.place->is_copy;
    return source.worker && (*is_copy || source.worker->id != gang->ranks[0].worker) ? source.worker
                                                                                     : NULL;
}

/* Returns rank 0's worker if it has the checkpoint, so that it can check that the checkpoint still
 * exists. Otherwise returns NULL. */
static const struct gw_worker *looked_at(const struct gw_sched *sched,
                                         const struct gw_gang_attempt *gang)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(gang->job, gang->index);
    if (!record || !gang->from_attempt || gang->from_lost)
        return NULL;
    const struct gw_checkpoint_source source = gw_sched_checkpoint_source(sched, record);
    return source.worker && source.worker->id == gang->ranks[0].worker ? source.worker : NULL;
}

void gw_sched_checkpoint_choose(const struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(gang->job, gang->index);
    if (!record)
        return;
    const struct gw_checkpoint_source source = gw_sched_checkpoint_source(sched, record);
    const bool copy = source.place == &record->copy;
    gang->from_attempt = copy ? record->copy.attempt : record->attempt;
    gang->from_step = copy ? record->copy.step : record->step;
    gang->from_lost = source.lost;
    gang->mirrors = gw_sched_checkpoint_of_command(gang->job, gang->index);
}

/* Returns true if the ranks of a gang are at several workers. Ranks are grouped by worker. */
static bool spans(const struct gw_gang_attempt *gang)
{
    return gang->ranks[gang->count - 1].worker != gang->ranks[0].worker;
}

bool gw_sched_checkpoint_needs_transfer(const struct gw_sched *sched,
                                        const struct gw_gang_attempt *gang)
{
    bool is_copy;
    return gw_sched_checkpoint_transfer_source(sched, gang, &is_copy) != NULL ||
           (gang->mirrors && spans(gang));
}

/* Logs an event for each lost worker with files of ranks, because these files have no copy. */
static void tell_lost_members(struct gw_sched *sched, const struct gw_gang_attempt *gang,
                              const struct gw_checkpointed *record)
{
    char text[640], where[GW_WORKER_NAME_MAX];
    for (uint32_t i = 0; i < record->member_count; i++) {
        struct gw_worker *beside;
        if (gw_sched_checkpoint_holder(sched, &record->members[i], &beside) || beside)
            continue;
        (void)snprintf(text, sizeof text,
                       "%s is LOST: if hosts do not share the checkpoint folder, the files that "
                       "its ranks there wrote since they started are lost",
                       gw_sched_checkpoint_at(&record->members[i], where));
        GW_LOG_EVENT(sched, gang->job, .kind = GW_LOGGED_CHECKPOINT, .index = gang->index,
                     .text = text);
    }
}

void gw_sched_checkpoint_tell(struct gw_sched *sched, const struct gw_gang_attempt *gang)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(gang->job, gang->index);
    bool is_copy;
    char text[640], step[64] = "", where[GW_WORKER_NAME_MAX], to[GW_WORKER_NAME_MAX];
    const struct gw_worker *from = gw_sched_checkpoint_transfer_source(sched, gang, &is_copy);
    if (gang->from_lost)
        GW_LOG_EVENT(sched, gang->job, .kind = GW_LOGGED_CHECKPOINT_LOST, .index = gang->index,
                     .number = (uint64_t)record->step,
                     .count = gw_sched_checkpoint_of_command(gang->job, gang->index),
                     .text = gw_sched_checkpoint_at(&record->home, where),
                     .detail = !record->attempt    ? GW_LOGGED_LOST_UNSEEN
                               : record->home.gone ? GW_LOGGED_LOST_FOLDER
                                                   : GW_LOGGED_LOST_WITH_WORKER);
    if (gang->mirrors)
        tell_lost_members(sched, gang, record);
    if (!from)
        return;
    if (!gw_sched_checkpoint_of_command(gang->job, gang->index))
        (void)snprintf(step, sizeof step, " of step %lld", (long long)gang->from_step);
    if (gw_sched_checkpoint_source(sched, record).place == &record->copy)
        (void)snprintf(text, sizeof text,
                       "%.100s, which saved its last checkpoint, %s: it continues from the copy%s "
                       "that %s kept",
                       record->home.name,
                       record->home.gone ? "does not have it any more" : "is lost", step,
                       gw_sched_worker_where(sched, from->id, where));
    else
        (void)snprintf(
            text, sizeof text,
            "its checkpoint%s is transferred from %s to %s, before any rank starts, unless "
            "they share the folder",
            step, gw_sched_worker_where(sched, from->id, where),
            gw_sched_worker_name(sched, gang->ranks[0].worker, to));
    GW_LOG_EVENT(sched, gang->job, .kind = GW_LOGGED_CHECKPOINT, .index = gang->index,
                 .text = text);
}

/* Returns the workers whose ranks may have written files, except rank 0's worker and the worker
 * that the checkpoint is transferred from. *member: rank 0's worker is one of them, too. Returns
 * NULL if *count is 0. */
struct gw_worker **gw_sched_checkpoint_members(const struct gw_sched *sched,
                                               const struct gw_gang_attempt *gang, uint32_t *count,
                                               bool *member)
{
    bool is_copy;
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(gang->job, gang->index);
    const struct gw_worker *from = gw_sched_checkpoint_transfer_source(sched, gang, &is_copy);
    *count = 0;
    *member = false;
    if (!gang->mirrors || !record->member_count || gang->from_lost)
        return NULL; /* the checkpoint is lost: all ranks begin without files, so that no rank uses
                        outdated ones */
    struct gw_worker **members = gw_arena_alloc(&sched->step.effects->arena,
                                                record->member_count * sizeof(struct gw_worker *));
    GW_MUST_PTR(members);
    for (uint32_t i = 0; i < record->member_count; i++) {
        struct gw_worker *beside;
        struct gw_worker *worker = gw_sched_checkpoint_holder(sched, &record->members[i], &beside);
        if (!worker)
            worker = beside;
        if (worker && worker->id == gang->ranks[0].worker)
            *member = true;
        else if (worker && worker->state == GW_WORKER_READY && (is_copy || worker != from))
            members[(*count)++] = worker;
    }
    return *count ? members : NULL;
}

/* Commands: adds to the message the workers whose folders rank 0's worker must merge. */
static void join(struct gw_sched *sched, const struct gw_gang_attempt *gang,
                 struct gw_msg_gang *message)
{
    bool member;
    uint32_t count;
    struct gw_worker **members = gw_sched_checkpoint_members(sched, gang, &count, &member);
    message->transfer_member = member;
    if (!count)
        return;
    uint32_t *others = gw_arena_alloc(&sched->step.effects->arena, count * sizeof *others);
    GW_MUST_PTR(others);
    for (uint32_t i = 0; i < count; i++)
        others[i] = members[i]->id;
    message->transfer_others = (struct gw_col32){(const void *)others, count};
}

void gw_sched_checkpoint_describe_transfer(struct gw_sched *sched,
                                           const struct gw_gang_attempt *gang, bool leads,
                                           struct gw_msg_gang *message)
{
    bool is_copy = false;
    if (!leads && !gang->mirrors)
        return;
    const struct gw_worker *from =
        leads ? gw_sched_checkpoint_transfer_source(sched, gang, &is_copy) : NULL;
    if (leads && !from)
        from = looked_at(sched, gang);
    if (!from && !gang->mirrors)
        return;
    message->transfer_worker = from ? from->id : gang->ranks[0].worker;
    message->transfer_copy = leads && is_copy;
    message->transfer_after = !leads;
    message->transfer_job = gang->job->id;
    message->transfer_index = gang->index;
    if (leads)
        join(sched, gang, message);
}

void gw_sched_checkpoint_forget_members(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    GW_FACT(sched, checkpoint_lies, .at = job, .job = job->id, .index = row,
            .which = GW_CHECKPOINT_NOBODY, .host = "", .name = "");
}

/* Records the workers of a gang that starts: from now on each of them may write files into its
 * folder. */
static void note_members(struct gw_sched *sched, const struct gw_gang_attempt *gang)
{
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(gang->job, gang->index);
    struct gw_job *job = gang->job;
    if (record && record->member_count)
        gw_sched_checkpoint_forget_members(sched, job, gang->index);
    for (uint32_t i = 1; i < gang->count; i++) {
        const struct gw_worker *worker = gw_sched_worker_find(sched, gang->ranks[i].worker);
        if (worker && gang->ranks[i].worker != gang->ranks[i - 1].worker &&
            gang->ranks[i].worker != gang->ranks[0].worker)
            gw_sched_checkpoint_put(sched, job, gang->index,
                                    (struct gw_checkpoint_lies){.which = GW_CHECKPOINT_MEMBER},
                                    worker);
    }
}

void gw_sched_checkpoint_on_go(struct gw_sched *sched, const struct gw_gang_attempt *gang)
{
    struct gw_job *job = gang->job;
    const struct gw_worker *worker = gw_sched_worker_find(sched, gang->ranks[0].worker);
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(job, gang->index);
    const bool command = gw_sched_checkpoint_of_command(job, gang->index),
               known = record && record->home.worker;
    struct gw_checkpoint_lies lies = {GW_CHECKPOINT_HOME, gang->from_attempt, gang->from_step};
    /* The gang begins again, in a folder that no other worker has. */
    if (command && gang->from_lost) {
        lies = (struct gw_checkpoint_lies){.which = GW_CHECKPOINT_HOME};
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
    if (lies.which == GW_CHECKPOINT_SAVED || !record ||
        !gw_sched_checkpoint_is_at(&record->home, worker))
        gw_sched_checkpoint_put(sched, job, gang->index, lies, worker);
    if (command)
        note_members(sched, gang);
}
