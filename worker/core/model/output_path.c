/* Paths of the files that hold the output of attempts. */
#include "worker/core/model/output_path.h"

#include "graph/wire/enums.h"

#include <inttypes.h>
#include <stdio.h>

enum { DIR_BYTES = GW_NODE_PATH_MAX - 128 }; /* the numbers in a path need the rest */

const char *gw_node_output_path_dir(const char *log_dir, const char *user,
                                    char dir[GW_NODE_PATH_MAX])
{
    if (!user || !*user)
        return log_dir;
    snprintf(dir, GW_NODE_PATH_MAX, "%s/logs", user);
    return dir;
}

void gw_node_output_path(const char *log_dir, const struct gw_node_place *place,
                         const char *extension, char path[static GW_NODE_PATH_MAX])
{
    char dir[GW_NODE_PATH_MAX];
    log_dir = gw_node_output_path_dir(log_dir, place->user, dir);
    if (place->rank == GW_RANK_NONE)
        snprintf(path, GW_NODE_PATH_MAX, "%.*s/%" PRIu64 "/%" PRIu32 ".%" PRIu64 ".%s", DIR_BYTES,
                 log_dir, place->job, place->index, place->attempt, extension);
    else
        snprintf(path, GW_NODE_PATH_MAX, "%.*s/%" PRIu64 "/%" PRIu32 ".%" PRIu64 ".%" PRIu32 ".%s",
                 DIR_BYTES, log_dir, place->job, place->index, place->attempt, place->rank,
                 extension);
}

void gw_node_capture_path(const char *log_dir, uint64_t incarnation, uint64_t process,
                          const char *extension, char path[static GW_NODE_PATH_MAX])
{
    snprintf(path, GW_NODE_PATH_MAX, "%s/runner.%" PRIu64 ".%" PRIu64 ".%s", log_dir, incarnation,
             process, extension);
}
