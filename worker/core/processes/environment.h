/* Variables and words that processes get. */
#ifndef GW_WORKER_CORE_PROCESSES_ENVIRONMENT_H
#define GW_WORKER_CORE_PROCESSES_ENVIRONMENT_H

#include "worker/core/model/state.h"

struct gw_bin gw_environment_of_runner(struct gw_node_core *core,
                                       const struct gw_runner_pool *pool);
struct gw_bin gw_environment_of_command(struct gw_node_core *core, const struct gw_attempt *run);
/* gw_environment_argv gives a command's words, with what stands in braces filled in (template.h);
 * gw_environment_first the first of a list as text; gw_environment_checkpoints the folder of a
 * command's job that stays over its attempts. All scratch. */
struct gw_bin gw_environment_argv(struct gw_node_core *core, const struct gw_attempt *run);
const char *gw_environment_checkpoints(struct gw_node_core *core, const struct gw_attempt *run);
const char *gw_environment_first(struct gw_node_core *core, struct gw_bin list);
struct gw_bin gw_environment_list1(struct gw_node_core *core, const char *text);
/* gw_environment_find_cluster finds whether the processes of a command reach the cluster through
 * this worker, as its job's user: where they would else be nobody there, or somebody else. Not
 * where --env names a cluster. */
void gw_environment_find_cluster(const struct gw_node_core *core, struct gw_node_spec *spec);

#endif
