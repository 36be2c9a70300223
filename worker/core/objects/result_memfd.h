/* Memory files: memfds that hold large results and are used again for later results. */
#ifndef GW_WORKER_CORE_OBJECTS_RESULT_MEMFD_H
#define GW_WORKER_CORE_OBJECTS_RESULT_MEMFD_H

#include "worker/core/model/state.h"

/* gw_result_memfd_give is called before an attempt is sent to a runner. If the attempt's result is
 * expected to be large, it gives the attempt a memory file to write to. gw_result_memfd_forsake
 * closes this file if the attempt leaves the runner or did not write to it. */
void gw_result_memfd_give(struct gw_node_core *core, struct gw_process *process,
                          struct gw_attempt *run);
void gw_result_memfd_forsake(struct gw_node_core *core, struct gw_attempt *run);
/* gw_result_memfd_take returns the memory file that an attempt has written, now that its result has
 * become an object with a token and a size of its own. NULL: the attempt has written none. */
struct gw_result_memfd *gw_result_memfd_take(struct gw_node_core *core, struct gw_attempt *run,
                                             uint64_t bytes);

/* gw_result_memfd_lend records that a runner is sent the descriptor of an object. It returns the
 * number of the memory file, to be sent with the descriptor. 0: the object is in no memory file.
 * gw_result_memfd_leave records that the descriptor is sent to a receiver who will not report when
 * it has stopped reading. */
uint64_t gw_result_memfd_lend(struct gw_node_core *core, const struct gw_object *object,
                              const struct gw_process *process);
void gw_result_memfd_leave(const struct gw_object *object);

/* gw_result_memfd_release takes the descriptor of an object that is freed. gw_result_memfd_vacate
 * takes the descriptor of an object that is now on disk, and frees the memory. The object has no
 * token afterwards. */
void gw_result_memfd_release(struct gw_node_core *core, struct gw_object *object);
void gw_result_memfd_vacate(struct gw_node_core *core, struct gw_object *object);

/* Messages of runners. They return 0 or GW_EPROTO. gw_result_memfd_end must be called when the
 * process is reaped, since it reads nothing any more. */
int gw_result_memfd_on_filled(struct gw_node_core *core, struct gw_process *process,
                              const struct gw_msg_memfile_filled *filled);
int gw_result_memfd_on_returned(struct gw_node_core *core, const struct gw_process *process,
                                const struct gw_msg_memfile_returned *returned);
void gw_result_memfd_end(struct gw_node_core *core, const struct gw_process *process);

/* gw_result_memfd_spare frees the memory file that has been idle longest. Returns false if none is
 * idle. */
bool gw_result_memfd_spare(struct gw_node_core *core);
/* gw_result_memfd_settle frees files that have been idle for too long, and idle files beyond the
 * limits. */
void gw_result_memfd_settle(struct gw_node_core *core);
uint64_t gw_result_memfd_idle_bytes(const struct gw_node_core *core);
uint64_t gw_result_memfd_deadline_ns(const struct gw_node_core *core);
void gw_result_memfd_check(const struct gw_node_core *core);
void gw_result_memfd_deinit(struct gw_node_core *core);

#endif
