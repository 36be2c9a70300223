/* Large arguments: they go ahead of their task as values of their own, and the task gets a
 * reference in their place. */
#ifndef GW_CLIENT_LARGE_ARGS_H
#define GW_CLIENT_LARGE_ARGS_H

#include "client/link/client.h"
#include "client/results/chunk.h"

enum { GW_LARGE_ARGS_BYTES = 64 << 10 }; /* encoded; what is larger does not travel in a message */

struct gw_large_args {
    struct gw_chunk_row row; /* the task as it is now; points into this struct */
    struct gw_buffer args;
    GW_ARRAY(uint64_t) dep_job;
    GW_ARRAY(uint32_t) dep_index, dep_rank;
    GW_ARRAY(uint64_t) jobs; /* that hold the values; to be released after the task's end */
};

/* gw_large_args_init sends the large values of a row's arguments (borrowed) and makes the row that
 * takes them by reference; blocks. Values that hold references themselves are taken apart. On
 * failure the spill is valid too; gw_large_args_deinit frees it. */
int gw_large_args_init(struct gw_large_args *spill, struct gw_client *client,
                       const struct gw_chunk_row *row, struct gw_error *error);
void gw_large_args_deinit(struct gw_large_args *spill);

#endif
