/* Leaving: this worker was told to end, and others may need checkpoints that only it has. */
#ifndef GW_WORKER_CORE_LEAVE_H
#define GW_WORKER_CORE_LEAVE_H

#include "worker/core/state.h"

/* gw_leave_begin takes the word that it is to end, as `text` says (copied; NULL: at once, and it
 * need not stay), or that it is to end sooner: all that runs is given up, as by gw_drop_shut_down,
 * and has its own grace, but no more than GW_LEAVE_NS; told again, half a second. */
void gw_leave_begin(struct gw_node_core *core, const char *text);

/* gw_leave_let is told that the scheduler needs nothing more of it. */
void gw_leave_let(struct gw_node_core *core);

/* gw_leave_settle: of a worker that ends, nothing runs any more. true: it may EXIT; else it has
 * told the scheduler so and waits for its word, until gw_leave_deadline_ns (UINT64_MAX: it does
 * not). */
bool gw_leave_settle(struct gw_node_core *core);
uint64_t gw_leave_deadline_ns(const struct gw_node_core *core);

#endif
