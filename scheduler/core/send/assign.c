/* Builds the columns of `assign`.
 *
 * The dependencies of a task are sent in the order in which the task was submitted with them,
 * because ext 1 (k) in its arguments means the k-th dependency. A dependency without data (only an
 * order between tasks) becomes an empty row, or is left out if no dependency with data follows. A
 * dependency on all ranks of a gang is one row with GW_DEP_ALL, in which dep_bytes holds the number
 * of ranks. One row for each rank follows, and these rows do not count for k. */
#include "scheduler/core/send/assign.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/send.h"

#include <assert.h>
#include <string.h>

/* -- Rows, and their owner ----------------------------------------------------------------- */

#define RESERVE(column) GW_MUST(gw_array_reserve(&rows->column, 1));
#define COUNT(column) rows->column.count++;

/* Adds one entry to each column of `rows`. The caller fills it in. Returns its index. */
static size_t add_row(struct gw_assign_rows *rows)
{
    size_t at = rows->job.count;
    if (at == rows->job.capacity) {
        EACH_ROW_COLUMN(RESERVE)
    }
    EACH_ROW_COLUMN(COUNT)
    return at;
}

static size_t add_dep(struct gw_assign_rows *rows)
{
    size_t at = rows->dep_job.count;
    if (at == rows->dep_job.capacity) {
        EACH_DEP_COLUMN(RESERVE)
    }
    EACH_DEP_COLUMN(COUNT)
    return at;
}
#undef COUNT
#undef RESERVE

/* Returns data for a message: if the data stays valid until the message is sent (`lend`), the data
 * itself, otherwise a copy. */
static const void *leave(struct gw_sched *sched, const void *data, size_t bytes, bool lend)
{
    if (lend || bytes == 0)
        return data;
    const void *copy = gw_arena_copy(&sched->step.effects->arena, data, bytes);
    GW_MUST_PTR(copy);
    return copy;
}

void gw_sched_assign_flush(struct gw_sched *sched, struct gw_worker *worker, bool lend)
{
    struct gw_assign_rows *rows = worker->rows.assign;
    if (!rows || rows->job.count == 0)
        return;
    struct gw_msg_assign assign;
#define LEAVE(column, member)                                                                      \
    assign.column.data =                                                                           \
        leave(sched, rows->column.items, rows->column.count * sizeof *rows->column.items, lend);   \
    assign.column.member = (uint32_t)rows->column.count;
#define LEAVE_COLUMN(column) LEAVE(column, count)
#define LEAVE_BLOB(column) LEAVE(column, size)
    EACH_COLUMN(LEAVE_COLUMN)
    EACH_BLOB(LEAVE_BLOB)
#undef LEAVE_BLOB
#undef LEAVE_COLUMN
#undef LEAVE
    gw_sched_send(sched, worker->remote, GW_MESSAGE_assign)->assign = assign;
    if (lend) {
        GW_MUST(gw_array_push(&sched->step.lent_rows, rows));
        worker->rows.assign = NULL;
    } else {
        gw_assign_rows_clear(rows);
    }
}

/* -- Messages that a worker needs before `assign` ------------------------------------------ */

static void tell_spec(struct gw_sched *sched, struct gw_job *job, uint32_t number,
                      struct gw_worker *worker)
{
    struct gw_spec *spec = &job->specs.items[number];
    if (worker->slot < spec->told_count && spec->told[worker->slot] == worker->id)
        return;
    gw_sched_worker_told_spec(job, number, worker);
    struct gw_msg_spec *message = &gw_sched_send(sched, worker->remote, GW_MESSAGE_spec)->spec;
    *message = spec->message;
    message->uid = job->uid;
    message->user = gw_sched_assign_user(sched, job, worker);
}

const char *gw_sched_assign_user(struct gw_sched *sched, const struct gw_job *job,
                                 const struct gw_worker *worker)
{
    char user[GW_USER_NAME_MAX];
    return worker->all_users ? gw_sched_send_text(sched, gw_user_name(sched, job->uid, user)) : "";
}

void gw_sched_assign_neighbour(struct gw_sched *sched, struct gw_worker *worker,
                               struct gw_worker *neighbour)
{
    if (neighbour == worker || (neighbour->slot < worker->neighbour_count &&
                                worker->neighbours[neighbour->slot] == neighbour->id))
        return;
    gw_sched_worker_told_neighbour(worker, neighbour);
    struct gw_msg_neighbour *message =
        &gw_sched_send(sched, worker->remote, GW_MESSAGE_neighbour)->neighbour;
    message->worker = neighbour->id;
    message->address = gw_sched_send_text(sched, neighbour->address);
}

/* -- Rows ---------------------------------------------------------------------------------- */

struct dep_row {
    uint64_t job, bytes;
    uint32_t index, rank, worker, size;
};

static void push_dep(struct gw_assign_rows *rows, const struct dep_row *dep)
{
    size_t at = add_dep(rows);
    rows->dep_job.items[at] = dep->job;
    rows->dep_index.items[at] = dep->index;
    rows->dep_rank.items[at] = dep->rank;
    rows->dep_bytes.items[at] = dep->bytes;
    rows->dep_worker.items[at] = dep->worker;
    rows->dep_value_size.items[at] = dep->size;
}

static void push_object(struct gw_sched *sched, struct gw_worker *worker, uint32_t at,
                        size_t *inlined)
{
    struct gw_assign_rows *rows = worker->rows.assign;
    const struct gw_object *object = &sched->objects.items[at];
    const void *value = gw_sched_object_value(object);
    struct dep_row dep = {
        .job = object->job->id,
        .index = object->index,
        .rank = object->rank,
        .bytes = object->bytes,
    };
    if (value && *inlined + object->size <= GW_ROW_INLINE_MAX) {
        dep.size = object->size;
        *inlined += object->size;
        GW_MUST(gw_array_reserve(&rows->dep_values, object->size));
        memcpy(rows->dep_values.items + rows->dep_values.count, value, object->size);
        rows->dep_values.count += object->size;
    } else if (!gw_sched_object_here(object)) {
        uint32_t place = gw_sched_object_holder_any(sched, at, worker->slot);
        assert(place != GW_NO_INDEX);
        struct gw_worker *holder = sched->workers.items[sched->holders.items[place].worker];
        dep.worker = holder->id;
        gw_sched_assign_neighbour(sched, worker, holder);
    }
    push_dep(rows, &dep);
}

/* Adds the rows for the dependencies of a task. Returns their number. */
static uint32_t push_deps(struct gw_sched *sched, struct gw_worker *worker, struct gw_job *job,
                          uint32_t row)
{
    struct gw_tasks *tasks = &job->tasks;
    struct gw_assign_rows *rows = worker->rows.assign;
    size_t before = rows->dep_job.count, inlined = 0;
    uint32_t end = gw_sched_deps_end(tasks, row);
    while (end > tasks->deps_at[row] && gw_sched_dep_rank(tasks, end - 1) == GW_DEP_AFTER)
        end--;
    for (uint32_t e = tasks->deps_at[row]; e < end; e++) {
        struct gw_row from;
        uint32_t rank = gw_sched_dep_rank(tasks, e);
        bool known = gw_sched_dep(sched, job, e, &from);
        if (rank == GW_DEP_AFTER) {
            push_dep(rows, &(struct dep_row){known ? from.job->id : 0, 0,
                                             gw_sched_edge(tasks, e).index, rank, 0, 0});
            continue;
        }
        assert(known);
        uint32_t at =
            gw_sched_object_of(sched, from.job, from.index, rank == GW_DEP_ALL ? 0 : rank);
        /* The input does not exist yet: an earlier attempt at this worker makes it (pipelining). */
        if (at == GW_NO_INDEX) {
            push_dep(rows, &(struct dep_row){from.job->id, from.job->tasks.attempt[from.index],
                                             from.index, rank, GW_DEP_HERE, 0});
            continue;
        }
        if (rank != GW_DEP_ALL) {
            push_object(sched, worker, at, &inlined);
            continue;
        }
        struct dep_row all = {.job = from.job->id, .index = from.index, .rank = GW_DEP_ALL};
        for (uint32_t i = at; i != GW_NO_INDEX; i = sched->objects.items[i].next)
            all.bytes++;
        push_dep(rows, &all);
        for (; at != GW_NO_INDEX; at = sched->objects.items[at].next)
            push_object(sched, worker, at, &inlined);
    }
    return (uint32_t)(rows->dep_job.count - before);
}

void gw_sched_assign_row(struct gw_sched *sched, uint32_t slot)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct gw_worker *worker = attempt->worker;
    struct gw_assign_rows *rows = gw_assign_rows_of(sched, worker);
    struct gw_job *job = attempt->job;
    struct gw_tasks *tasks = &job->tasks;
    uint32_t row = attempt->index;
    /* Send early, so that any row still fits into the rest of a frame. */
    if (rows->job.count * 44 + rows->dep_job.count * 36 + rows->args.count +
            rows->dep_values.count >
        GW_FLUSH_BYTES)
        gw_sched_assign_flush(sched, worker, false);
    tell_spec(sched, job, tasks->spec[row], worker);

    size_t at = add_row(rows);
    uint32_t size = tasks->args_size[row];
    rows->job.items[at] = job->id;
    rows->index.items[at] = row;
    rows->spec.items[at] = tasks->spec[row];
    rows->attempt.items[at] = attempt->gang ? attempt->gang->id : attempt->id;
    rows->try_number.items[at] = tasks->charges[row].tries - 1u;
    rows->rank.items[at] = attempt->rank;
    rows->gpu_count.items[at] = attempt->gpus;
    rows->args_size.items[at] = size;
    for (uint32_t i = 0; attempt->gpus && (i = gw_sched_gpu_next(sched, slot, i)) != GW_NO_INDEX;
         i++)
        GW_MUST(gw_array_push(&rows->gpus, i));
    GW_MUST(gw_array_reserve(&rows->args, size));
    if (size)
        memcpy(rows->args.items + rows->args.count, tasks->args[row], size);
    gw_sched_range_args(job, row, rows->args.items + rows->args.count);
    rows->args.count += size;
    bool alone = tasks->deps_at[row] == gw_sched_deps_end(tasks, row);
    uint32_t deps = alone ? 0 : push_deps(sched, worker, job, row);
    rows->dep_count.items[at] = deps;
}
