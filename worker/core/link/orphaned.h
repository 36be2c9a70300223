/* While there is no scheduler. */
#ifndef GW_WORKER_CORE_LINK_ORPHANED_H
#define GW_WORKER_CORE_LINK_ORPHANED_H

#include "worker/core/model/state.h"

void gw_orphaned_on_refused(struct gw_node_core *core, const struct gw_event *event);
/* gw_orphaned_until_ns is when what runs is ended because no scheduler came; UINT64_MAX: never. */
uint64_t gw_orphaned_until_ns(const struct gw_node_core *core);
/* gw_orphaned_finished and gw_orphaned_ended keep the end of a run, where another scheduler might
 * take it (of run.end; copies), and nobody is there to hear it, or who hears it may be dying. */
struct gw_orphaned_result {
    uint64_t bytes, run_ns;
};
void gw_orphaned_finished(struct gw_node_core *core, const struct gw_attempt *run,
                          struct gw_bin value, const struct gw_orphaned_result *result);
void gw_orphaned_ended(struct gw_node_core *core, const struct gw_attempt *run,
                       const char *stderr_path);
/* gw_orphaned_tells_again: how such a run ended well is kept although a scheduler was told. */
bool gw_orphaned_tells_again(const struct gw_attempt *run);
/* gw_orphaned_on_acknowledged forgets what was surely heard, once acked_ns has grown. */
void gw_orphaned_on_acknowledged(struct gw_node_core *core);
/* gw_orphaned_list writes all that runs, and what is kept, into a registration; gw_orphaned_say
 * tells what is kept, behind it. */
void gw_orphaned_list(struct gw_node_core *core, struct gw_msg_registration *message);
void gw_orphaned_say(struct gw_node_core *core);
void gw_orphaned_forget(struct gw_node_core *core);
void gw_orphaned_deinit(struct gw_node_core *core);

#endif
