/* Paths of the files that hold the output of attempts. */
#ifndef GW_WORKER_CORE_MODEL_OUTPUT_PATH_H
#define GW_WORKER_CORE_MODEL_OUTPUT_PATH_H

#include "worker/core/model/options.h"

/* Identifies what a process executes, or an attempt. rank is GW_RANK_NONE unless the attempt is a
 * gang's. process is 0 if no process was started. */
struct gw_node_place {
    uint64_t job, attempt, process;
    uint32_t index, rank;
    uint32_t kind;    /* enum gw_spec_kind */
    const char *user; /* folder of the separate user; NULL or "": none */
    bool keeps; /* an actor's runner: after each call, the output is moved to the actor's files */
};

/* gw_node_output_path_dir returns the folder of the output of a separate user (written to `dir`),
 * or log_dir if user is NULL or "". */
const char *gw_node_output_path_dir(const char *log_dir, const char *user,
                                    char dir[GW_NODE_PATH_MAX]);

/* gw_node_output_path writes the path of an attempt's output file below log_dir, or below the
 * folder of its separate user. extension is "out"
 * or "err". The path is truncated if it is too long, and always terminated. gw_node_capture_path
 * writes the path of the file that collects the output of a pooled runner until it is moved to the
 * attempt's file. incarnation is that of the worker. */
void gw_node_output_path(const char *log_dir, const struct gw_node_place *place,
                         const char *extension, char path[static GW_NODE_PATH_MAX]);
void gw_node_capture_path(const char *log_dir, uint64_t incarnation, uint64_t process,
                          const char *extension, char path[static GW_NODE_PATH_MAX]);

#endif
