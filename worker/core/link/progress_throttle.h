/* Passes progress and printed output of tasks on to the scheduler, as fast as it reads. */
#ifndef GW_WORKER_CORE_LINK_PROGRESS_THROTTLE_H
#define GW_WORKER_CORE_LINK_PROGRESS_THROTTLE_H

#include "worker/core/model/state.h"

/* gw_progress_throttle_tell sends the `progress` of a task, or stores it while the scheduler is
 * slow. gw_progress_throttle_end must be called just before the end of the attempt
 * is reported. gw_progress_throttle_on_queued takes the number of bytes that are queued to the
 * scheduler (event QUEUED). */
void gw_progress_throttle_tell(struct gw_node_core *core, const struct gw_msg_progress *progress);
/* gw_progress_throttle_printed sends what the task has printed. While the scheduler is slow, only
 * the number of bytes is counted. */
void gw_progress_throttle_printed(struct gw_node_core *core, struct gw_attempt *run,
                                  const struct gw_msg_printed *printed);
void gw_progress_throttle_end(struct gw_node_core *core, const struct gw_attempt *run);
void gw_progress_throttle_on_queued(struct gw_node_core *core, uint64_t bytes);

#endif
