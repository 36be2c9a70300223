/* Objects: results of tasks that this worker holds. */
#ifndef GW_WORKER_CORE_OBJECTS_OBJECT_H
#define GW_WORKER_CORE_OBJECTS_OBJECT_H

#include "worker/core/model/state.h"

struct gw_object *gw_object_find(struct gw_node_core *core, uint64_t job, uint32_t index,
                                 uint32_t rank);
/* gw_object_put adds a copy of the object `like` and replaces an object of an earlier attempt. It
 * takes ownership of the token and the value. The new object has no users and is not released. */
struct gw_object *gw_object_put(struct gw_node_core *core, const struct gw_object *like);
/* gw_object_use records that the attempt has the object as input `dep`. It returns false if the
 * object must first be read from disk. run->missing is then increased. gw_object_pin records that a
 * runner is given the inputs of the attempt. gw_object_unpin undoes this. */
bool gw_object_use(struct gw_node_core *core, struct gw_object *object, struct gw_attempt *run,
                   uint32_t dep);
void gw_object_unuse(struct gw_node_core *core, struct gw_object *object);
void gw_object_pin(struct gw_node_core *core, struct gw_attempt *run);
void gw_object_unpin(struct gw_node_core *core, struct gw_attempt *run);
void gw_object_free(struct gw_node_core *core, struct gw_object *object);
void gw_object_free_all(struct gw_node_core *core); /* frees memory only, when the core is freed */
void gw_object_on_forget(struct gw_node_core *core,
                         uint64_t job); /* the job is over: releases its objects */
void gw_object_on_fetch(struct gw_node_core *core, struct gw_node_link *link,
                        const struct gw_msg_fetch *fetch);
/* gw_object_list writes all objects that are not released into a registration. */
void gw_object_list(struct gw_node_core *core, struct gw_msg_registration *message);

#endif
