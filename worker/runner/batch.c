/* Batches: copies of assign messages. The channel's buffer cannot hold them, since a training
 * function receives further messages while it runs. Each batch is one allocation. */
#include "worker/runner/batch.h"

#include "graph/wire/enums.h"
#include "graph/wire/frame.h"
#include "worker/runner/mapping.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct column {
    const void **data;
    size_t bytes;
};

enum { COLUMNS = 18 };

static void list_columns(struct gw_msg_assign *a, struct column columns[static COLUMNS])
{
    const struct column list[COLUMNS] = {
        {&a->job.data, a->job.count * 8UL},
        {&a->index.data, a->index.count * 4UL},
        {&a->spec.data, a->spec.count * 4UL},
        {&a->attempt.data, a->attempt.count * 8UL},
        {&a->try_number.data, a->try_number.count * 4UL},
        {&a->rank.data, a->rank.count * 4UL},
        {&a->gpu_count.data, a->gpu_count.count * 4UL},
        {&a->gpus.data, a->gpus.count * 4UL},
        {&a->args_size.data, a->args_size.count * 4UL},
        {&a->args.data, a->args.size},
        {&a->dep_count.data, a->dep_count.count * 4UL},
        {&a->dep_job.data, a->dep_job.count * 8UL},
        {&a->dep_index.data, a->dep_index.count * 4UL},
        {&a->dep_rank.data, a->dep_rank.count * 4UL},
        {&a->dep_bytes.data, a->dep_bytes.count * 8UL},
        {&a->dep_worker.data, a->dep_worker.count * 4UL},
        {&a->dep_value_size.data, a->dep_value_size.count * 4UL},
        {&a->dep_values.data, a->dep_values.size},
    };
    memcpy(columns, list, sizeof list);
}

/* Counts how many later rows need the result of each row. Returns false if out of memory. */
static bool count_uses(struct gw_batch *batch)
{
    const struct gw_msg_assign *a = &batch->assign;
    for (uint32_t i = 0; i < a->dep_worker.count; i++) {
        uint64_t row = gw_col64_at(a->dep_bytes, i);
        if (gw_col32_at(a->dep_worker, i) != GW_DEP_HERE || row >= a->job.count)
            continue;
        if (!batch->cached && !(batch->cached = calloc(a->job.count, sizeof *batch->cached)))
            return false;
        batch->cached[row].uses++;
    }
    return true;
}

static void close_one(int fd, uint64_t memfile)
{
    close(fd);
    if (memfile)
        gw_mapping_return(memfile);
}

struct gw_batch *gw_batch_new(const struct gw_msg_assign *assign, struct gw_batch_fds fds)
{
    struct column columns[COLUMNS];
    struct gw_msg_assign copy = *assign;
    list_columns(&copy, columns);
    const size_t memfiles_bytes = fds.count * sizeof *fds.memfiles;
    size_t bytes = memfiles_bytes + fds.count * sizeof *fds.fds;
    for (int i = 0; i < COLUMNS; i++)
        bytes += columns[i].bytes;

    struct gw_batch *batch = malloc(sizeof *batch + bytes);
    if (!batch) {
        for (uint32_t i = 0; i < fds.count; i++)
            close_one(fds.fds[i], fds.memfiles ? fds.memfiles[i] : 0);
        return NULL;
    }
    *batch = (struct gw_batch){.assign = copy, .fd_count = fds.count};
    list_columns(&batch->assign, columns);
    uint8_t *at = batch->memory + memfiles_bytes + fds.count * sizeof *fds.fds;
    for (int i = 0; i < COLUMNS; i++) {
        if (columns[i].bytes)
            memcpy(at, *columns[i].data, columns[i].bytes);
        *columns[i].data = at;
        at += columns[i].bytes;
    }
    batch->memfiles = (uint64_t *)(void *)batch->memory; /* first, because of alignment */
    batch->fds = (int *)(void *)(batch->memory + memfiles_bytes);
    memset(batch->memfiles, 0, memfiles_bytes);
    if (fds.count && fds.memfiles)
        memcpy(batch->memfiles, fds.memfiles, memfiles_bytes);
    if (fds.count)
        memcpy(batch->fds, fds.fds, fds.count * sizeof *fds.fds);
    if (!count_uses(batch)) {
        gw_batch_free(batch);
        return NULL;
    }
    return batch;
}

void gw_batch_skip(struct gw_batch *batch)
{
    batch->skipped = batch->skipped || batch->row < batch->assign.job.count;
    batch->row = batch->assign.job.count;
    for (; batch->fd_at < batch->fd_count; batch->fd_at++)
        close_one(batch->fds[batch->fd_at], batch->memfiles[batch->fd_at]);
}

void gw_batch_free(struct gw_batch *batch)
{
    if (batch)
        gw_batch_skip(batch);
    for (uint32_t i = 0; batch && batch->cached && i < batch->assign.job.count; i++)
        gw_value_unref(batch->cached[i].value);
    if (batch)
        free(batch->cached);
    free(batch);
}

bool gw_batch_row(struct gw_batch *batch, struct gw_batch_row *row)
{
    const struct gw_msg_assign *a = &batch->assign;
    uint32_t i = batch->row;
    if (i >= a->job.count)
        return false;
    uint32_t args_bytes = gw_col32_at(a->args_size, i);
    *row = (struct gw_batch_row){
        .job = gw_col64_at(a->job, i),
        .attempt = gw_col64_at(a->attempt, i),
        .index = gw_col32_at(a->index, i),
        .spec = gw_col32_at(a->spec, i),
        .try_number = gw_col32_at(a->try_number, i),
        .rank = gw_col32_at(a->rank, i),
        .args = {(const char *)a->args.data + batch->args_at, args_bytes},
        .dep_count = gw_col32_at(a->dep_count, i),
    };
    batch->args_at += args_bytes;
    batch->row++;
    return true;
}

/* Takes the result of an earlier row. The last row that needs it takes over the stored reference.
 */
static int take_cached(struct gw_batch *batch, struct gw_batch_dep *dep)
{
    /* batch->row is already after the row that takes the result */
    if (!batch->cached || dep->bytes + 1 >= batch->row)
        return GW_EPROTO;
    struct gw_batch_cached *cached = &batch->cached[dep->bytes];
    dep->here = true;
    dep->cached = cached->value;
    if (--cached->uses == 0)
        cached->value = NULL;
    else if (cached->value)
        (void)gw_value_ref(cached->value);
    return 0;
}

bool gw_batch_wants(const struct gw_batch *batch)
{
    return batch->cached && !batch->skipped && batch->cached[batch->row - 1].uses > 0;
}

void gw_batch_cache(struct gw_batch *batch, struct gw_value *value)
{
    batch->cached[batch->row - 1].value = value;
}

int gw_batch_dep(struct gw_batch *batch, struct gw_batch_dep *dep)
{
    const struct gw_msg_assign *a = &batch->assign;
    uint32_t i = batch->dep++;
    uint32_t size = gw_col32_at(a->dep_value_size, i);
    *dep = (struct gw_batch_dep){
        .value = {(const char *)a->dep_values.data + batch->value_at, size},
        .bytes = gw_col64_at(a->dep_bytes, i),
        .rank = gw_col32_at(a->dep_rank, i),
        .fd = -1,
    };
    batch->value_at += size;
    if (gw_col32_at(a->dep_worker, i) == GW_DEP_HERE)
        return take_cached(batch, dep);
    if (size > 0 || dep->bytes == 0 || dep->rank == GW_DEP_AFTER || dep->rank == GW_DEP_ALL)
        return 0;
    if (batch->fd_at >= batch->fd_count)
        return GW_EPROTO;
    dep->memfile = batch->memfiles[batch->fd_at];
    dep->fd = batch->fds[batch->fd_at++];
    return 0;
}
