/* Attempts and ranks, from assign to their end. */
#ifndef GW_WORKER_CORE_MODEL_RUN_H
#define GW_WORKER_CORE_MODEL_RUN_H

#include "worker/core/model/state.h"

/* gw_run_new makes an empty one. */
struct gw_run *gw_run_new(struct gw_node_core *core);
void gw_run_push(struct gw_runs *list, struct gw_run *run);
void gw_run_push_first(struct gw_runs *list, struct gw_run *run);
void gw_run_push_behind(struct gw_runs *list, struct gw_run *before, struct gw_run *run);
void gw_run_pull(struct gw_run *run);
bool gw_run_executes(const struct gw_run *run);
/* gw_run_message makes the message of an end, with the last lines of its stderr (NULL: none); good
 * as long as this step, in which it is sent. Attempt and rank are filled in by the caller. */
struct gw_message gw_run_message(struct gw_node_core *core, const struct gw_run_end *end,
                                 const char *tail);
/* gw_run_know_tail: its runner has said (copied) the last lines of its stderr. */
void gw_run_know_tail(struct gw_run *run, const char *tail);
void gw_run_place(const struct gw_run *run, struct gw_node_place *place);
struct gw_run *gw_run_find(const struct gw_node_core *core, uint64_t attempt, uint32_t rank);
char *gw_run_text(const char *format, ...) GW_PRINTF(1, 2); /* owned by the caller */

/* gw_run_ended: run.end says how a run has ended of which no process has anything left; it waits in
 * core->ended until it is reaped, in this step. gw_run_fail is the same for one that waited for its
 * inputs (takes end.text). */
void gw_run_ended(struct gw_node_core *core, struct gw_run *run);
void gw_run_fail(struct gw_node_core *core, struct gw_run *run, struct gw_run_end end);
/* gw_run_supplied: the last input of a run is here; in this step it is queued for a process.
 * gw_run_bind: it has a process, or a slot, of its own, which in this step is told of it. */
void gw_run_supplied(struct gw_node_core *core, struct gw_run *run);
void gw_run_bind(struct gw_node_core *core, struct gw_run *run);

#endif
