/* What runners report. */
#ifndef GW_WORKER_CORE_RESULT_H
#define GW_WORKER_CORE_RESULT_H

#include "worker/core/state.h"

int gw_result_on_finished(struct gw_node_core *core, struct gw_process *process,
                          const struct gw_event *event);
int gw_result_on_ended(struct gw_node_core *core, struct gw_process *process,
                       const struct gw_msg_ended *ended);
int gw_result_on_failures(struct gw_node_core *core, struct gw_process *process,
                          const struct gw_msg_failures *failures);
/* gw_result_keep keeps a value behind a token (taken) as what a run has made. */
struct gw_object *gw_result_keep(struct gw_node_core *core, struct gw_run *run, uint64_t token,
                                 uint64_t bytes);
void gw_result_of_command(struct gw_node_core *core, struct gw_run *run); /* exit code 0 */
/* gw_result_tell tells the scheduler, if there is one, of an end; stderr_path: see struct
 * gw_effect. */
void gw_result_tell(struct gw_node_core *core, const struct gw_message *message,
                    struct gw_bin stderr_path);

/* gw_result_may_wait tells whether the scheduler need not hear at once what only heirs here take:
 * so much is in hand beside `count` runs. gw_result_wait has what was told last leave with what
 * follows.
 */
bool gw_result_may_wait(const struct gw_node_core *core, uint32_t count);
void gw_result_wait(struct gw_node_core *core);

#endif
