/* While there is no scheduler. */
#ifndef GW_WORKER_CORE_LINK_ADRIFT_H
#define GW_WORKER_CORE_LINK_ADRIFT_H

#include "worker/core/model/state.h"

void gw_adrift_on_refused(struct gw_node_core *core, const struct gw_event *event);
/* gw_adrift_until_ns is when what runs is ended because no scheduler came; UINT64_MAX: never. */
uint64_t gw_adrift_until_ns(const struct gw_node_core *core);
/* gw_adrift_finished and gw_adrift_ended keep the end of a run, where another scheduler might take
 * it (of run.end; copies), and nobody is there to hear it, or who hears it may be dying. */
struct gw_adrift_result {
    uint64_t bytes, run_ns;
};
void gw_adrift_finished(struct gw_node_core *core, const struct gw_run *run, struct gw_bin value,
                        const struct gw_adrift_result *result);
void gw_adrift_ended(struct gw_node_core *core, const struct gw_run *run, const char *stderr_path);
/* gw_adrift_tells_again: how such a run ended well is kept although a scheduler was told. */
bool gw_adrift_tells_again(const struct gw_run *run);
/* gw_adrift_on_acknowledged forgets what was surely heard, once acked_ns has grown. */
void gw_adrift_on_acknowledged(struct gw_node_core *core);
/* gw_adrift_list writes all that runs, and what is kept, into a registration; gw_adrift_say tells
 * what is kept, behind it. */
void gw_adrift_list(struct gw_node_core *core, struct gw_msg_registration *message);
void gw_adrift_say(struct gw_node_core *core);
void gw_adrift_forget(struct gw_node_core *core);
void gw_adrift_deinit(struct gw_node_core *core);

#endif
