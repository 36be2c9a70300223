/* Lets tasks run on, and stores their ends, while the worker has no scheduler. */
#ifndef GW_WORKER_CORE_LINK_ORPHANED_H
#define GW_WORKER_CORE_LINK_ORPHANED_H

#include "worker/core/model/state.h"

void gw_orphaned_on_refused(struct gw_node_core *core, const struct gw_event *event);
/* gw_orphaned_until_ns returns when all attempts are given up because no scheduler came back.
 * UINT64_MAX: never. */
uint64_t gw_orphaned_until_ns(const struct gw_node_core *core);
/* gw_orphaned_finished and gw_orphaned_ended store a copy of the end of an attempt, if no scheduler
 * is connected or if the connected one may die before it commits the end. gw_orphaned_ended takes
 * the outcome from run->end. They do nothing if no later scheduler could accept the end. */
struct gw_orphaned_result {
    uint64_t bytes, run_ns;
};
void gw_orphaned_finished(struct gw_node_core *core, const struct gw_attempt *run,
                          struct gw_bin value, const struct gw_orphaned_result *result);
void gw_orphaned_ended(struct gw_node_core *core, const struct gw_attempt *run,
                       const char *stderr_path);
/* gw_orphaned_tells_again returns true if a successful end of this attempt is stored even after it
 * was reported. */
bool gw_orphaned_tells_again(const struct gw_attempt *run);
/* gw_orphaned_stores returns true if the end of this attempt was stored just now. */
bool gw_orphaned_stores(const struct gw_node_core *core, const struct gw_attempt *run);
/* gw_orphaned_on_acknowledged removes the ends that the scheduler has certainly committed. The
 * caller has increased acked_ns. */
void gw_orphaned_on_acknowledged(struct gw_node_core *core);
/* gw_orphaned_list writes all live attempts and all stored ends into a registration.
 * gw_orphaned_say reports the stored ends after the registration. */
void gw_orphaned_list(struct gw_node_core *core, struct gw_msg_registration *message);
void gw_orphaned_say(struct gw_node_core *core);
void gw_orphaned_forget(struct gw_node_core *core);
void gw_orphaned_deinit(struct gw_node_core *core);

#endif
