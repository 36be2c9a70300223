/* Memory files: memfds in which large results lie, one after another. */
#ifndef GW_WORKER_CORE_OBJECTS_RESULT_MEMFD_H
#define GW_WORKER_CORE_OBJECTS_RESULT_MEMFD_H

#include "worker/core/model/state.h"

/* gw_result_memfd_give is called before a run is assigned to a runner: where its result will be
 * large, it gets one to fill. gw_result_memfd_forsake takes that back, from a run that is given to
 * no runner any more, or was not filled. */
void gw_result_memfd_give(struct gw_node_core *core, struct gw_process *process,
                          struct gw_attempt *run);
void gw_result_memfd_forsake(struct gw_node_core *core, struct gw_attempt *run);
/* gw_result_memfd_take gives the one that a run has filled, whose result is an object now with this
 * token and size; NULL: it has filled none. */
struct gw_result_memfd *gw_result_memfd_take(struct gw_node_core *core, struct gw_attempt *run,
                                             uint64_t bytes);

/* gw_result_memfd_lend counts that a runner is sent an object's descriptor, and gives the number to
 * be sent along; 0: it is of none, or the runner knows of none. gw_result_memfd_leave says that
 * somebody else gets it, who will not say when it is read no more. */
uint64_t gw_result_memfd_lend(struct gw_node_core *core, const struct gw_object *object,
                              const struct gw_process *process);
void gw_result_memfd_leave(const struct gw_object *object);

/* gw_result_memfd_release takes the descriptor of an object that goes, gw_result_memfd_vacate that
 * of one that lies on disk now: its memory is given back. The object has no token then. */
void gw_result_memfd_release(struct gw_node_core *core, struct gw_object *object);
void gw_result_memfd_vacate(struct gw_node_core *core, struct gw_object *object);

/* What a runner says: 0, GW_EPROTO. gw_result_memfd_end: it is buried, and reads nothing any more.
 */
int gw_result_memfd_on_filled(struct gw_node_core *core, struct gw_process *process,
                              const struct gw_msg_memfile_filled *filled);
int gw_result_memfd_on_returned(struct gw_node_core *core, const struct gw_process *process,
                                const struct gw_msg_memfile_returned *returned);
void gw_result_memfd_end(struct gw_node_core *core, const struct gw_process *process);

/* gw_result_memfd_spare gives back the memory of the one that has been idle longest; false: none
 * is. */
bool gw_result_memfd_spare(struct gw_node_core *core);
/* gw_result_memfd_settle gives back what has been idle for long, and what is too much of it. */
void gw_result_memfd_settle(struct gw_node_core *core);
uint64_t gw_result_memfd_idle_bytes(const struct gw_node_core *core);
uint64_t gw_result_memfd_deadline_ns(const struct gw_node_core *core);
void gw_result_memfd_check(const struct gw_node_core *core);
void gw_result_memfd_deinit(struct gw_node_core *core);

#endif
