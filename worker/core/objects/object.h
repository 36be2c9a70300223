/* Objects. */
#ifndef GW_WORKER_CORE_OBJECTS_OBJECT_H
#define GW_WORKER_CORE_OBJECTS_OBJECT_H

#include "worker/core/model/state.h"

struct gw_object *gw_object_find(struct gw_node_core *core, uint64_t job, uint32_t index,
                                 uint32_t rank);
/* gw_object_put adds an object like this one, in place of an earlier attempt's (takes its token and
 * value); it is marked neither used nor released. */
struct gw_object *gw_object_put(struct gw_node_core *core, const struct gw_object *like);
/* gw_object_use makes it an input of a run; false where the run must wait until it is read back
 * (`missing` is raised then). gw_object_pin says that a runner is given the inputs of a run, unpin
 * that it has not, or no longer. */
bool gw_object_use(struct gw_node_core *core, struct gw_object *object, struct gw_attempt *run,
                   uint32_t dep);
void gw_object_unuse(struct gw_node_core *core, struct gw_object *object);
void gw_object_pin(struct gw_node_core *core, struct gw_attempt *run);
void gw_object_unpin(struct gw_node_core *core, struct gw_attempt *run);
void gw_object_free(struct gw_node_core *core, struct gw_object *object);
void gw_object_free_all(struct gw_node_core *core); /* their memory alone, at the end of the core */
void gw_object_on_forget(struct gw_node_core *core, uint64_t job); /* the job is over */
void gw_object_on_fetch(struct gw_node_core *core, struct gw_node_link *link,
                        const struct gw_msg_fetch *fetch);
/* gw_object_list writes those that are here, and were not released, into a registration. */
void gw_object_list(struct gw_node_core *core, struct gw_msg_registration *message);

#endif
