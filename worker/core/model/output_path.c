/* Paths of the files that hold the output of attempts. */
#include "worker/core/model/output_path.h"

#include "graph/wire/enums.h"

#include <inttypes.h>
#include <stdio.h>

void gw_node_output_path(const char *log_dir, const struct gw_node_place *place,
                         const char *extension, char path[static GW_NODE_PATH_MAX])
{
    if (place->rank == GW_RANK_NONE)
        snprintf(path, GW_NODE_PATH_MAX, "%s/%" PRIu64 "/%" PRIu32 ".%" PRIu64 ".%s", log_dir,
                 place->job, place->index, place->attempt, extension);
    else
        snprintf(path, GW_NODE_PATH_MAX, "%s/%" PRIu64 "/%" PRIu32 ".%" PRIu64 ".%" PRIu32 ".%s",
                 log_dir, place->job, place->index, place->attempt, place->rank, extension);
}

void gw_node_capture_path(const char *log_dir, uint64_t incarnation, uint64_t process,
                          const char *extension, char path[static GW_NODE_PATH_MAX])
{
    snprintf(path, GW_NODE_PATH_MAX, "%s/runner.%" PRIu64 ".%" PRIu64 ".%s", log_dir, incarnation,
             process, extension);
}
