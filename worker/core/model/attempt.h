/* Attempts of tasks and ranks of gangs, from assignment to their end: allocation, lists, look-up
 * and end. */
#ifndef GW_WORKER_CORE_MODEL_ATTEMPT_H
#define GW_WORKER_CORE_MODEL_ATTEMPT_H

#include "worker/core/model/state.h"

/* gw_attempt_new returns an attempt with all fields zero except its serial number. */
struct gw_attempt *gw_attempt_new(struct gw_node_core *core);
void gw_attempt_push(struct gw_attempts *list, struct gw_attempt *run);
void gw_attempt_push_first(struct gw_attempts *list, struct gw_attempt *run);
void gw_attempt_push_behind(struct gw_attempts *list, struct gw_attempt *before,
                            struct gw_attempt *run);
void gw_attempt_pull(struct gw_attempt *run);
bool gw_attempt_executes(const struct gw_attempt *run);
/* gw_attempt_message builds the message that reports the end of an attempt. tail is the last lines
 * of its stderr, or NULL. The texts are valid until the end of the step. The caller fills in the
 * attempt and the rank. */
struct gw_message gw_attempt_message(struct gw_node_core *core, const struct gw_attempt_end *end,
                                     const char *tail);
/* gw_attempt_ran_ns returns how long an attempt has executed, or executed; 0: it waits, or it is
 * unknown. */
uint64_t gw_attempt_ran_ns(const struct gw_node_core *core, const struct gw_attempt *run);
/* gw_attempt_know_tail stores a copy of the last lines of the attempt's stderr, as its runner
 * reported them. */
void gw_attempt_know_tail(struct gw_attempt *run, const char *tail);
void gw_attempt_place(const struct gw_attempt *run, struct gw_node_place *place);
struct gw_attempt *gw_attempt_find(const struct gw_node_core *core, uint64_t attempt,
                                   uint32_t rank);
char *gw_attempt_text(const char *format, ...) GW_PRINTF(1, 2); /* caller frees it */

/* gw_attempt_ended marks an attempt as ended, once no process executes it any more. The caller has
 * stored the outcome in run->end. The attempt stays in core->ended until gw_reap reports and frees
 * it in the same step. gw_attempt_fail does the same with the outcome `end`, for an attempt without
 * a process. It takes ownership of end.text. */
void gw_attempt_ended(struct gw_node_core *core, struct gw_attempt *run);
void gw_attempt_fail(struct gw_node_core *core, struct gw_attempt *run, struct gw_attempt_end end);
/* gw_attempt_supplied notes that the last input of an attempt has arrived. The attempt is queued
 * for a process later in the step. gw_attempt_bind notes that an attempt now has a process, or
 * slots, of its own. The message with the attempt is sent to the process later in the step. */
void gw_attempt_supplied(struct gw_node_core *core, struct gw_attempt *run);
void gw_attempt_bind(struct gw_node_core *core, struct gw_attempt *run);

/* gw_attempt_killed returns the outcome of an attempt that was told to end or is given back to the
 * scheduler. It copies text. */
struct gw_attempt_end gw_attempt_killed(const char *text);

#endif
