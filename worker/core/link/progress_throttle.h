/* How far tasks say that they are. */
#ifndef GW_WORKER_CORE_LINK_PROGRESS_THROTTLE_H
#define GW_WORKER_CORE_LINK_PROGRESS_THROTTLE_H

#include "worker/core/model/state.h"

/* gw_progress_throttle_tell passes a task's `progress` or `metric` on, or keeps it while the
 * scheduler is slow; gw_progress_throttle_end: the end of that run is told next.
 * gw_progress_throttle_on_queued takes QUEUED. */
void gw_progress_throttle_tell(struct gw_node_core *core, const struct gw_attempt *run,
                               const struct gw_message *message);
/* gw_progress_throttle_printed passes on what the task has printed; while the scheduler is slow
 * only how much.
 */
void gw_progress_throttle_printed(struct gw_node_core *core, struct gw_attempt *run,
                                  const struct gw_msg_printed *printed);
void gw_progress_throttle_end(struct gw_node_core *core, const struct gw_attempt *run);
void gw_progress_throttle_on_queued(struct gw_node_core *core, uint64_t bytes);

#endif
