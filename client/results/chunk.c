/* Chunks: columns of a submit message that grow row by row. */
#include "client/results/chunk.h"

#include <gangway/error.h>
#include <string.h>

size_t gw_chunk_row_bytes(const struct gw_chunk_row *row)
{
    return 3 * sizeof(uint32_t) + row->args_bytes + row->dep_count * (size_t)16 +
           (row->name ? strlen(row->name) + 8 : 0) + (row->target ? 4 : 0);
}

size_t gw_chunk_bytes(const struct gw_chunk *chunk)
{
    return (chunk->spec.count * 3 + chunk->named.count * 2 + chunk->targets.count) *
               sizeof(uint32_t) +
           chunk->dep_job.count * (size_t)16 + chunk->args.size + chunk->names.size;
}

int gw_chunk_add(struct gw_chunk *chunk, const struct gw_chunk_row *row)
{
    bool full = gw_array_push(&chunk->spec, row->spec) < 0 ||
                gw_array_push(&chunk->args_size, (uint32_t)row->args_bytes) < 0 ||
                gw_array_push(&chunk->dep_count, row->dep_count) < 0 ||
                gw_buffer_append(&chunk->args, row->args, row->args_bytes) < 0;
    for (uint32_t i = 0; i < row->dep_count && !full; i++)
        full = gw_array_push(&chunk->dep_job, row->dep_job[i]) < 0 ||
               gw_array_push(&chunk->dep_index, row->dep_index[i]) < 0 ||
               gw_array_push(&chunk->dep_rank, row->dep_rank[i]) < 0;
    if (row->name && !full)
        full = gw_array_push(&chunk->named, row->row) < 0 ||
               gw_array_push(&chunk->name_size, (uint32_t)strlen(row->name)) < 0 ||
               gw_buffer_append(&chunk->names, row->name, strlen(row->name)) < 0;
    if (row->target && !full)
        full = gw_array_push(&chunk->targets, row->row) < 0;
    return full ? GW_ENOMEM : 0;
}

#define COLUMN(array)                                                                              \
    {                                                                                              \
        (array).items, (uint32_t)(array).count                                                     \
    }

void gw_chunk_columns(const struct gw_chunk *chunk, struct gw_msg_submit *submit)
{
    submit->spec = (struct gw_col32)COLUMN(chunk->spec);
    submit->args_size = (struct gw_col32)COLUMN(chunk->args_size);
    submit->args = (struct gw_bin){chunk->args.data, (uint32_t)chunk->args.size};
    submit->dep_count = (struct gw_col32)COLUMN(chunk->dep_count);
    submit->dep_job = (struct gw_col64)COLUMN(chunk->dep_job);
    submit->dep_index = (struct gw_col32)COLUMN(chunk->dep_index);
    submit->dep_rank = (struct gw_col32)COLUMN(chunk->dep_rank);
    submit->named = (struct gw_col32)COLUMN(chunk->named);
    submit->name_size = (struct gw_col32)COLUMN(chunk->name_size);
    submit->names = (struct gw_bin){chunk->names.data, (uint32_t)chunk->names.size};
    submit->targets = (struct gw_col32)COLUMN(chunk->targets);
}

void gw_chunk_clear(struct gw_chunk *chunk)
{
    gw_array_clear(&chunk->spec);
    gw_array_clear(&chunk->args_size);
    gw_array_clear(&chunk->dep_count);
    gw_array_clear(&chunk->dep_job);
    gw_array_clear(&chunk->dep_index);
    gw_array_clear(&chunk->dep_rank);
    gw_array_clear(&chunk->named);
    gw_array_clear(&chunk->name_size);
    gw_array_clear(&chunk->targets);
    chunk->args.size = chunk->names.size = 0;
}

void gw_chunk_deinit(struct gw_chunk *chunk)
{
    gw_array_deinit(&chunk->spec);
    gw_array_deinit(&chunk->args_size);
    gw_array_deinit(&chunk->dep_count);
    gw_array_deinit(&chunk->dep_job);
    gw_array_deinit(&chunk->dep_index);
    gw_array_deinit(&chunk->dep_rank);
    gw_array_deinit(&chunk->named);
    gw_array_deinit(&chunk->name_size);
    gw_array_deinit(&chunk->targets);
    gw_buffer_deinit(&chunk->args);
    gw_buffer_deinit(&chunk->names);
}
