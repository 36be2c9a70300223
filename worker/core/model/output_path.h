/* Where the output of an attempt lies. */
#ifndef GW_WORKER_CORE_MODEL_OUTPUT_PATH_H
#define GW_WORKER_CORE_MODEL_OUTPUT_PATH_H

#include "worker/core/model/options.h"

/* What a process runs, or where an attempt is. rank: GW_RANK_NONE where it is not a gang. process
 * 0: not started. */
struct gw_node_place {
    uint64_t job, attempt, process;
    uint32_t index, rank;
    uint32_t kind; /* enum gw_spec_kind */
    bool keeps;    /* an actor's: what its calls print is moved to its files after each */
};

/* gw_node_output_path writes where an attempt's output lies below log_dir: extension "out" or
 * "err"; cut and terminated. gw_node_capture_path: where a pooled runner's output gathers until it
 * is moved there; incarnation: the worker's. */
void gw_node_output_path(const char *log_dir, const struct gw_node_place *place,
                         const char *extension, char path[static GW_NODE_PATH_MAX]);
void gw_node_capture_path(const char *log_dir, uint64_t incarnation, uint64_t process,
                          const char *extension, char path[static GW_NODE_PATH_MAX]);

#endif
