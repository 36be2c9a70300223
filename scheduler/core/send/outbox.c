/* The outbox collects the effects of the current step.
 *
 * The rows of an assign message are lent to the effects until the next step, without a copy. Only
 * if a batch becomes larger than GW_FLUSH_BYTES within a step, its rows are copied and sent early.
 */
#include "scheduler/core/send/outbox.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/assign.h"
#include "scheduler/core/send/send.h"

#include <msgpack.h>
#include <string.h>

void gw_sched_outbox_drop_token(struct gw_sched *sched, uint64_t token)
{
    uint64_t *tokens = gw_arena_copy(&sched->step.effects->arena, &token, sizeof token);
    GW_MUST_PTR(tokens);
    struct gw_effect *effect = gw_sched_send_effect(sched, GW_EFFECT_DROP_TOKEN);
    effect->tokens = tokens;
    effect->token_count = 1;
}

static void make_dirty(struct gw_sched *sched, struct gw_worker *worker)
{
    if (worker->rows.dirty)
        return;
    worker->rows.dirty = true;
    GW_MUST(gw_array_push(&sched->step.dirty_workers, worker));
}

/* -- Failures ------------------------------------------------------------------------------ */

enum {
    ALIKE_MAX = 128 << 10, /* most indices in one message about failures */
    LOOKED_BACK_AT = 16    /* effects that are searched for such a message */
};

/* Appends an index to a column. The column grows in the arena by powers of two, so its count tells
 * how much room it has. */
static void add_index(struct gw_sched *sched, struct gw_col32 *column, uint32_t index)
{
    uint32_t *items = (uint32_t *)(uintptr_t)column->data;
    if ((column->count & (column->count - 1)) == 0) {
        items = gw_arena_alloc(&sched->step.effects->arena,
                               sizeof *items * (column->count ? 2 * (size_t)column->count : 1));
        GW_MUST_PTR(items);
        if (column->count)
            memcpy(items, column->data, sizeof *items * column->count);
        column->data = items;
    }
    items[column->count++] = index;
}

static bool is_alike(const struct gw_msg_failed *a, const struct gw_msg_failed *b)
{
    return a->request == b->request && a->code == b->code && a->exit_code == b->exit_code &&
           a->attempt == b->attempt && strcmp(a->text, b->text) == 0;
}

/* Returns the message of this step that reported the same failure, if it is the last message to
 * this peer. Otherwise returns NULL. */
static struct gw_msg_failed *said_last(struct gw_sched *sched, const struct gw_remote *remote,
                                       const struct gw_msg_failed *failed)
{
    size_t count = sched->step.effects->list.count;
    for (size_t i = count; i > 0 && count - i < LOOKED_BACK_AT; i--) {
        struct gw_effect *effect = &sched->step.effects->list.items[i - 1];
        if (effect->type != GW_EFFECT_SEND || effect->peer.id != remote->peer.id)
            continue;
        bool same = effect->message.type == GW_MESSAGE_failed &&
                    effect->message.sequence == remote->sent &&
                    is_alike(&effect->message.failed, failed);
        return same ? &effect->message.failed : NULL;
    }
    return NULL;
}

void gw_sched_outbox_failed(struct gw_sched *sched, struct gw_remote *remote,
                            const struct gw_msg_failed *failed)
{
    struct gw_msg_failed *last = said_last(sched, remote, failed);
    if (last && last->more.count < ALIKE_MAX) {
        add_index(sched, &last->more, failed->index);
        return;
    }
    const char *text = gw_sched_send_text(sched, failed->text);
    struct gw_msg_failed *sent = &gw_sched_send(sched, remote, GW_MESSAGE_failed)->failed;
    *sent = *failed;
    sent->text = text;
}

/* -- Releases and kills -------------------------------------------------------------------- */

static void *copy_out(struct gw_sched *sched, const void *data, size_t bytes)
{
    void *copy = gw_arena_copy(&sched->step.effects->arena, data, bytes);
    GW_MUST_PTR(copy);
    return copy;
}

#define COPY_OUT(sched, array)                                                                     \
    {                                                                                              \
        copy_out((sched), (array).items, (array).count * sizeof *(array).items),                   \
            (uint32_t)(array).count                                                                \
    }

static void flush_release(struct gw_sched *sched, struct gw_worker *worker)
{
    struct gw_release_rows *rows = &worker->rows.release;
    if (rows->job.count == 0)
        return;
    struct gw_msg_release release = {
        .job = COPY_OUT(sched, rows->job),
        .index = COPY_OUT(sched, rows->index),
        .rank = COPY_OUT(sched, rows->rank),
    };
    gw_sched_send(sched, worker->remote, GW_MESSAGE_release)->release = release;
    gw_array_clear(&rows->job);
    gw_array_clear(&rows->index);
    gw_array_clear(&rows->rank);
}

void gw_sched_outbox_release(struct gw_sched *sched, struct gw_worker *worker,
                             const struct gw_release_row *row)
{
    struct gw_release_rows *rows = &worker->rows.release;
    make_dirty(sched, worker);
    GW_MUST(gw_array_push(&rows->job, row->job));
    GW_MUST(gw_array_push(&rows->index, row->index));
    GW_MUST(gw_array_push(&rows->rank, row->rank));
    if (rows->job.count * 16 > GW_FLUSH_BYTES)
        flush_release(sched, worker);
}

static void flush_kill(struct gw_sched *sched, struct gw_worker *worker)
{
    struct gw_kill_rows *rows = &worker->rows.kill;
    if (rows->attempt.count == 0)
        return;
    struct gw_msg_kill kill = {
        .attempt = COPY_OUT(sched, rows->attempt),
        .grace_ns = rows->grace_ns,
        .reason = rows->reason,
    };
    gw_sched_send(sched, worker->remote, GW_MESSAGE_kill)->kill = kill;
    gw_array_clear(&rows->attempt);
}

void gw_sched_outbox_kill(struct gw_sched *sched, struct gw_worker *worker,
                          const struct gw_kill_row *row)
{
    struct gw_kill_rows *rows = &worker->rows.kill;
    make_dirty(sched, worker);
    if (rows->attempt.count > 0 &&
        (rows->grace_ns != row->grace_ns || rows->reason != row->reason ||
         rows->attempt.count * 8 > GW_FLUSH_BYTES))
        flush_kill(sched, worker);
    rows->grace_ns = row->grace_ns;
    rows->reason = row->reason;
    GW_MUST(gw_array_push(&rows->attempt, row->attempt));
}

/* -- Done ---------------------------------------------------------------------------------- */

static void flush_done(struct gw_sched *sched, struct gw_session *session)
{
    struct gw_done_rows *rows = &session->done;
    if (rows->request.count == 0)
        return;
#define LEAVE(column) .column = COPY_OUT(sched, rows->column),
    struct gw_msg_done done = {EACH_DONE_COLUMN(LEAVE) LEAVE(values)};
#undef LEAVE
#define CLEAR(column) gw_array_clear(&rows->column);
    EACH_DONE_COLUMN(CLEAR)
    CLEAR(values)
#undef CLEAR
    gw_sched_send(sched, session->remote, GW_MESSAGE_done)->done = done;
}

/* Adds one entry to each column of `rows`. The caller fills it in. Returns its index. All columns
 * have the same capacity. */
static size_t done_add(struct gw_done_rows *rows)
{
    size_t at = rows->request.count;
#define RESERVE(column) GW_MUST(gw_array_reserve(&rows->column, 1));
    if (at == rows->request.capacity) {
        EACH_DONE_COLUMN(RESERVE)
    }
#undef RESERVE
#define COUNT(column) rows->column.count = at + 1;
    EACH_DONE_COLUMN(COUNT)
#undef COUNT
    return at;
}

void gw_sched_outbox_done(struct gw_sched *sched, const struct gw_hearer *to, struct gw_job *job,
                          uint32_t row)
{
    struct gw_session *session = to->session;
    struct gw_done_rows *rows = &session->done;
    bool gang = job->specs.items[job->tasks.spec[row]].message.ranks > 0;
    if (!session->done.dirty) {
        session->done.dirty = true;
        GW_MUST(gw_array_push(&sched->step.dirty_sessions, session));
    }
    for (uint32_t at = gw_sched_objects_of(sched, job, row); at != GW_NO_INDEX;
         at = sched->objects.items[at].next) {
        const struct gw_object *object = &sched->objects.items[at];
        const void *value = gw_sched_object_value(object);
        uint32_t size = value ? object->size : 0;
        size_t place = done_add(rows);
        rows->request.items[place] = to->request;
        rows->index.items[place] = to->index;
        rows->rank.items[place] = gang ? object->rank : GW_RANK_NONE;
        rows->bytes.items[place] = object->bytes;
        rows->value_size.items[place] = size;
        GW_MUST(gw_array_reserve(&rows->values, size));
        if (size)
            memcpy(rows->values.items + rows->values.count, value, size);
        rows->values.count += size;
        if (rows->values.count + rows->request.count * 28 > GW_FLUSH_BYTES)
            flush_done(sched, session);
    }
}

/* -- Begin and end of a step --------------------------------------------------------------- */

void gw_sched_outbox_begin(struct gw_sched *sched, struct gw_effects *effects)
{
    sched->step.effects = effects;
    gw_array_clear(&effects->list);
    gw_arena_reset(&effects->arena);
    gw_sched_rows_take_back(sched);
}

void gw_sched_outbox_flush(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->step.dirty_workers.count; i++) {
        struct gw_worker *worker = sched->step.dirty_workers.items[i];
        flush_release(sched, worker);
        flush_kill(sched, worker);
    }
    for (size_t i = 0; i < sched->step.dirty_sessions.count; i++) {
        flush_done(sched, sched->step.dirty_sessions.items[i]);
        sched->step.dirty_sessions.items[i]->done.dirty = false;
    }
    gw_array_clear(&sched->step.dirty_sessions);
    for (size_t i = 0; i < sched->step.dirty_workers.count; i++) {
        struct gw_worker *worker = sched->step.dirty_workers.items[i];
        gw_sched_assign_flush(sched, worker, true);
        worker->rows.dirty = false;
    }
    gw_array_clear(&sched->step.dirty_workers);
}

void gw_sched_outbox_assign(struct gw_sched *sched, uint32_t slot)
{
    make_dirty(sched, sched->attempts.items[slot].worker);
    gw_sched_assign_row(sched, slot);
}

void gw_sched_outbox_release_task(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    for (uint32_t at = job->tasks.object[row]; at != GW_NO_INDEX;
         at = sched->objects.items[at].next) {
        const struct gw_object *object = &sched->objects.items[at];
        for (uint32_t place = object->holders; place != GW_NO_INDEX;
             place = sched->holders.items[place].next)
            gw_sched_outbox_release(sched, sched->workers.items[sched->holders.items[place].worker],
                                    &(struct gw_release_row){job->id, row, object->rank});
        if (object->has_token)
            gw_sched_outbox_drop_token(sched, object->token);
    }
}

/* -- Gangs --------------------------------------------------------------------------------- */

void gw_sched_outbox_control(struct gw_sched *sched, const struct gw_gang_attempt *gang,
                             uint32_t command)
{
    const struct gw_spec *spec = &gang->job->specs.items[gang->job->tasks.spec[gang->index]];
    const struct gw_worker *last = NULL;
    for (uint32_t i = 0; i < gang->count; i++) {
        if (gang->ranks[i].slot == GW_NO_INDEX)
            continue; /* the rank has ended already */
        const struct gw_worker *worker = sched->attempts.items[gang->ranks[i].slot].worker;
        if (worker == last || (i > 0 && spec->message.kind == GW_SPEC_FUNCTION))
            continue;
        last = worker;
        gw_sched_send(sched, worker->remote, GW_MESSAGE_control)->control =
            (struct gw_msg_control){gang->id, command};
    }
}
