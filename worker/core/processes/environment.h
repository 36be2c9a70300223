/* Environment variables and command lines of processes. */
#ifndef GW_WORKER_CORE_PROCESSES_ENVIRONMENT_H
#define GW_WORKER_CORE_PROCESSES_ENVIRONMENT_H

#include "worker/core/model/state.h"

struct gw_bin gw_environment_of_runner(struct gw_node_core *core,
                                       const struct gw_runner_pool *pool);
struct gw_bin gw_environment_of_command(struct gw_node_core *core, const struct gw_attempt *run);
/* gw_environment_argv returns a command's arguments with all placeholders in braces filled in
 * (template.h). gw_environment_first returns the first text of a list. gw_environment_checkpoints
 * returns the checkpoint folder of a command's task, which all its attempts share. All results are
 * valid until the next step. */
struct gw_bin gw_environment_argv(struct gw_node_core *core, const struct gw_attempt *run);
const char *gw_environment_checkpoints(struct gw_node_core *core, const struct gw_attempt *run);
const char *gw_environment_first(struct gw_node_core *core, struct gw_bin list);
struct gw_bin gw_environment_list1(struct gw_node_core *core, const char *text);
/* gw_environment_find_cluster decides if the processes of a command must reach the cluster through
 * this worker. They must if a connection of their own would not act as the user of the job. They do
 * not if the user named a cluster by --env. */
void gw_environment_find_cluster(const struct gw_node_core *core, struct gw_node_spec *spec);

#endif
