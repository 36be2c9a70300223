/* Attempts and ranks, from assign to their end. */
#ifndef GW_WORKER_CORE_MODEL_ATTEMPT_H
#define GW_WORKER_CORE_MODEL_ATTEMPT_H

#include "worker/core/model/state.h"

/* gw_run_new makes an empty one. */
struct gw_attempt *gw_attempt_new(struct gw_node_core *core);
void gw_attempt_push(struct gw_attempts *list, struct gw_attempt *run);
void gw_attempt_push_first(struct gw_attempts *list, struct gw_attempt *run);
void gw_attempt_push_behind(struct gw_attempts *list, struct gw_attempt *before,
                            struct gw_attempt *run);
void gw_attempt_pull(struct gw_attempt *run);
bool gw_attempt_executes(const struct gw_attempt *run);
/* gw_run_message makes the message of an end, with the last lines of its stderr (NULL: none); good
 * as long as this step, in which it is sent. Attempt and rank are filled in by the caller. */
struct gw_message gw_attempt_message(struct gw_node_core *core, const struct gw_attempt_end *end,
                                     const char *tail);
/* gw_attempt_know_tail: its runner has said (copied) the last lines of its stderr. */
void gw_attempt_know_tail(struct gw_attempt *run, const char *tail);
void gw_attempt_place(const struct gw_attempt *run, struct gw_node_place *place);
struct gw_attempt *gw_attempt_find(const struct gw_node_core *core, uint64_t attempt,
                                   uint32_t rank);
char *gw_attempt_text(const char *format, ...) GW_PRINTF(1, 2); /* owned by the caller */

/* gw_attempt_ended: run.end says how a run has ended of which no process has anything left; it
 * waits in core->ended until it is reaped, in this step. gw_attempt_fail is the same for one that
 * waited for its inputs (takes end.text). */
void gw_attempt_ended(struct gw_node_core *core, struct gw_attempt *run);
void gw_attempt_fail(struct gw_node_core *core, struct gw_attempt *run, struct gw_attempt_end end);
/* gw_attempt_supplied: the last input of a run is here; in this step it is queued for a process.
 * gw_attempt_bind: it has a process, or a slot, of its own, which in this step is told of it. */
void gw_attempt_supplied(struct gw_node_core *core, struct gw_attempt *run);
void gw_attempt_bind(struct gw_node_core *core, struct gw_attempt *run);

/* gw_attempt_killed is the end of one that was told to end, or is given back; text is copied. */
struct gw_attempt_end gw_attempt_killed(const char *text);

#endif
