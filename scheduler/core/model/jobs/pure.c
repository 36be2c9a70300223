/* Pure tasks.
 *
 * Invariant: an entry names a row that may still end well, or that ended well and has its result.
 * The entry is removed when the row fails, is cancelled, or is released, so a failure is never
 * shared with a later task. A kept result counts as one user of its row. The number and bytes of
 * kept results are limited. Entries are not durable. So which tasks of a detached job share a
 * result is decided before the job is accepted, and is a fact of its own (pure_shared). Detached
 * jobs share nothing with other jobs. */
#include "scheduler/core/model/jobs/pure.h"

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/job.h"

#include <stdlib.h>
#include <string.h>

struct gw_pure *gw_sched_pure_of(const struct gw_job *job, uint32_t row)
{
    uint64_t value;
    return gw_map_get(&gw_job_rare(job)->pures, row, &value) ? (struct gw_pure *)(uintptr_t)value
                                                             : NULL;
}

bool gw_sched_pure_alias_of(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                            struct gw_row *original)
{
    if (!(job->tasks.flags[row] & GW_TASK_ALIAS) || job->compacted)
        return false;
    const struct gw_edge edge = gw_sched_edge(&job->tasks, job->tasks.deps_at[row]);
    original->job = gw_sched_job_find(sched, edge.job ? edge.job : job->id);
    original->index = edge.index;
    return original->job != NULL;
}

/* -- Decided shares --- */

static int by_row(const void *a, const void *b)
{
    const uint32_t x = ((const struct gw_pure_share *)a)->index,
                   y = ((const struct gw_pure_share *)b)->index;
    return (x > y) - (x < y);
}

/* Finds the original that was decided for a row of the detached job that is being accepted. */
static bool decided_share(const struct gw_sched *sched, uint32_t row, struct gw_row *original)
{
    const struct gw_pure_share key = {.index = row}, *found = NULL;
    if (sched->pures.shares.count)
        found =
            bsearch(&key, sched->pures.shares.items, sched->pures.shares.count, sizeof key, by_row);
    if (found)
        *original = (struct gw_row){found->job, found->row};
    return found != NULL;
}

/* -- Digests ---------------------------------------------------------------------------------- */

static void put(struct gw_buffer *out, const void *data, size_t bytes)
{
    /* Precedes each part, so that different lists of parts never give the same bytes. */
    uint64_t size = bytes;
    GW_MUST(gw_buffer_append(out, &size, sizeof size));
    GW_MUST(gw_buffer_append(out, data, bytes));
}

static void put_bin(struct gw_buffer *out, struct gw_bin bin)
{
    put(out, bin.data, bin.size);
}

static void put_text(struct gw_buffer *out, const char *text)
{
    put(out, text, strlen(text));
}

/* Adds the identity of a dependency. An alias has the identity of its original. Rows of the job
 * that are not added yet are found among the decided shares. */
static void put_dep(struct gw_sched *sched, struct gw_job *job, const struct gw_msg_submit *chunk,
                    uint32_t edge, struct gw_buffer *out)
{
    uint64_t id = gw_col64_at(chunk->dep_job, edge);
    struct gw_row dep = {id ? gw_sched_job_find(sched, id) : job,
                         gw_col32_at(chunk->dep_index, edge)};
    if (dep.job != job || dep.index < job->tasks.count)
        (void)gw_sched_pure_alias_of(sched, dep.job, dep.index, &dep);
    else
        (void)decided_share(sched, dep.index, &dep);
    const uint64_t name[3] = {dep.job->id, dep.index, gw_col32_at(chunk->dep_rank, edge)};
    put(out, name, sizeof name);
}

static const struct gw_msg_spec *spec_of(const struct gw_job *job,
                                         const struct gw_chunk_row_at *row)
{
    return &job->specs.items[gw_col32_at(row->chunk->spec, row->at)].message;
}

static struct gw_digest digest_of(struct gw_sched *sched, struct gw_job *job,
                                  const struct gw_chunk_row_at *row)
{
    const struct gw_msg_submit *chunk = row->chunk;
    const struct gw_msg_spec *spec = spec_of(job, row);
    const uint32_t head[4] = {job->uid, spec->kind, spec->ranks, job->detached};
    struct gw_buffer *out = &sched->step.scratch;
    out->size = 0;
    put(out, head, sizeof head);
    put_bin(out, spec->program);
    put_text(out, spec->function);
    put_bin(out, spec->files);
    if (spec->kind == GW_SPEC_COMMAND) { /* for commands, everything that the process sees counts */
        put_bin(out, spec->argv);
        put_bin(out, spec->env);
        put_text(out, spec->cwd);
    }
    put(out, row->args, gw_col32_at(chunk->args_size, row->at));
    uint32_t deps = gw_col32_at(chunk->dep_count, row->at);
    for (uint32_t edge = row->edge; edge < row->edge + deps; edge++)
        put_dep(sched, job, chunk, edge, out);
    return gw_digest_bytes((struct gw_digest){0}, out->data, out->size);
}

/* -- Entries ---------------------------------------------------------------------------------- */

static void unlink_retained(struct gw_sched *sched, struct gw_pure *pure)
{
    *(pure->prev ? &pure->prev->next : &sched->pures.first) = pure->next;
    *(pure->next ? &pure->next->prev : &sched->pures.last) = pure->prev;
    pure->prev = pure->next = NULL;
    sched->pures.retained--;
    sched->pures.retained_bytes -= pure->bytes;
}

void gw_sched_pure_link(struct gw_sched *sched, struct gw_pure *pure)
{
    pure->next = sched->pures.first;
    *(pure->next ? &pure->next->prev : &sched->pures.last) = pure;
    sched->pures.first = pure;
    sched->pures.retained++;
    sched->pures.retained_bytes += pure->bytes;
}

/* Finds the entry of a digest. */
static struct gw_pure *find(const struct gw_sched *sched, const struct gw_digest *digest)
{
    uint64_t value;
    return gw_map_get(&sched->pures.by_digest, digest->low, &value)
               ? (struct gw_pure *)(uintptr_t)value
               : NULL;
}

/* Returns true if a task with this digest can share the result of the entry's task. */
static bool may_share(const struct gw_pure *pure, const struct gw_digest *digest)
{
    return pure->digest.high == digest->high &&
           pure->job->tasks.state[pure->index] != GW_TASK_CANCELLING;
}

static void add_original(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                         const struct gw_digest *digest)
{
    struct gw_pure *pure = calloc(1, sizeof *pure);
    GW_MUST_PTR(pure);
    *pure = (struct gw_pure){.digest = *digest, .job = job, .index = row};
    GW_MUST(gw_map_put(&sched->pures.by_digest, digest->low, (uintptr_t)pure));
    struct gw_job_rare *rare = gw_job_rare_make(job);
    GW_MUST(gw_map_put(&rare->pures, row, (uintptr_t)pure));
    rare->had_pures = true;
}

bool gw_sched_pure_find(struct gw_sched *sched, struct gw_job *job,
                        const struct gw_chunk_row_at *row, struct gw_row *original)
{
    if (!spec_of(job, row)->pure)
        return false;
    const struct gw_digest digest = digest_of(sched, job, row);
    const struct gw_pure *pure = find(sched, &digest);
    if (!pure || !may_share(pure, &digest))
        return false;
    *original = (struct gw_row){pure->job, pure->index};
    return true;
}

bool gw_sched_pure_add(struct gw_sched *sched, struct gw_job *job,
                       const struct gw_chunk_row_at *row, struct gw_row *original)
{
    const uint32_t self = job->tasks.count;
    if (!spec_of(job, row)->pure)
        return false;
    const struct gw_digest digest = digest_of(sched, job, row);
    struct gw_pure *pure = find(sched, &digest);
    bool shares = pure && may_share(pure, &digest);
    if (job->detached)
        shares = decided_share(sched, self, original);
    else if (shares)
        *original = (struct gw_row){pure->job, pure->index};
    if (!shares && !pure)
        add_original(sched, job, self, &digest);
    if (!shares)
        return false;
    if (pure && pure->retained) {
        unlink_retained(sched, pure);
        gw_sched_pure_link(sched, pure);
    }
    job->aliases++;
    return true;
}

void gw_sched_pure_forget(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    struct gw_pure *pure = gw_sched_pure_of(job, row);
    if (!pure)
        return;
    if (pure->retained) {
        unlink_retained(sched, pure);
        job->tasks.users[row]--;
    }
    (void)gw_map_remove(&sched->pures.by_digest, pure->digest.low);
    (void)gw_map_remove(&job->rare->pures, row);
    free(pure);
}

void gw_sched_pure_free(struct gw_sched *sched, struct gw_job *job)
{
    for (uint32_t row = 0; gw_job_rare(job)->pures.count > 0; row++)
        gw_sched_pure_forget(sched, job, row);
}

/* -- Keeping results -------------------------------------------------------------------------- */

void gw_sched_pure_drop(struct gw_sched *sched, struct gw_job *job, uint32_t index)
{
    gw_sched_pure_forget(sched, job, index);
    if (job->tasks.users[index] == 0 && job->tasks.state[index] == GW_TASK_DONE)
        GW_MUST(gw_array_push(&sched->idle, (struct gw_row){job, index}));
}

bool gw_sched_pure_unretain(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    const struct gw_pure *pure = gw_job_rare(job)->pures.count ? gw_sched_pure_of(job, row) : NULL;
    if (!pure || !pure->retained)
        return false;
    gw_sched_pure_drop(sched, job, row);
    return true;
}
