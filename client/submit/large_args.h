/* Large arguments of a task. They are scattered as separate values before the task is sent, and the
 * task's arguments get references to them. */
#ifndef GW_CLIENT_LARGE_ARGS_H
#define GW_CLIENT_LARGE_ARGS_H

#include "client/link/client.h"
#include "client/results/chunk.h"

enum { GW_LARGE_ARGS_BYTES = 64 << 10 }; /* encoded size; a larger argument is scattered */

struct gw_large_args {
    struct gw_chunk_row row; /* the task, with references; points into this struct */
    struct gw_buffer args;
    GW_ARRAY(uint64_t) dep_job;
    GW_ARRAY(uint32_t) dep_index, dep_rank;
    GW_ARRAY(uint64_t)
    jobs; /* jobs of the scattered values; release them after the task has ended */
};

/* gw_large_args_init scatters the large values in a task's arguments (borrowed) and makes a task
 * whose arguments refer to them. It blocks. A large value that contains references is not
 * scattered itself; its large items are. The spill is valid also after a failure.
 * gw_large_args_deinit frees it. */
int gw_large_args_init(struct gw_large_args *spill, struct gw_client *client,
                       const struct gw_chunk_row *row, struct gw_error *error);
void gw_large_args_deinit(struct gw_large_args *spill);

#endif
