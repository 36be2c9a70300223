/* A chunk: the tasks of a job that are sent in one submit message, stored as arrays ("columns")
 * with one entry for each task. */
#ifndef GW_CLIENT_CHUNK_H
#define GW_CLIENT_CHUNK_H

#include "graph/base/array.h"
#include "graph/wire/message.h"

enum { GW_CHUNK_BYTES = 512 << 10 }; /* size at which a chunk is sent */

struct gw_chunk {
    GW_ARRAY(uint32_t) spec, args_size, dep_count, dep_index, dep_rank, named, name_size, targets;
    GW_ARRAY(uint64_t) dep_job;
    struct gw_buffer args, names;
};

/* A row: one task of a job. All pointers are borrowed. */
struct gw_chunk_row {
    uint32_t row; /* number of the task in the job */
    uint32_t spec;
    const void *args;
    size_t args_bytes;
    const uint64_t *dep_job;
    const uint32_t *dep_index, *dep_rank;
    uint32_t dep_count;
    const char *name; /* or NULL */
    bool target;
    bool whole; /* true: the task is a command, so its arguments are sent in the message even if
                   they are large */
};

/* gw_chunk_row_bytes returns the size that a row needs in a message. */
size_t gw_chunk_row_bytes(const struct gw_chunk_row *row);

/* gw_chunk_bytes returns the size of all rows of the chunk. */
size_t gw_chunk_bytes(const struct gw_chunk *chunk);

/* gw_chunk_add appends a row. Returns 0 or GW_ENOMEM. */
int gw_chunk_add(struct gw_chunk *chunk, const struct gw_chunk_row *row);

/* gw_chunk_columns fills the arrays of a submit message. They belong to the chunk and are valid
 * until the chunk changes. */
void gw_chunk_columns(const struct gw_chunk *chunk, struct gw_msg_submit *submit);

/* gw_chunk_clear removes all rows and keeps the memory. gw_chunk_deinit frees the memory. */
void gw_chunk_clear(struct gw_chunk *chunk);
void gw_chunk_deinit(struct gw_chunk *chunk);

#endif
