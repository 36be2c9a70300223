/* Explaining: why a task is where it is, in words. Read only. */
#ifndef GW_SCHEDULER_CORE_EXPLAIN_H
#define GW_SCHEDULER_CORE_EXPLAIN_H

#include "scheduler/core/model/state.h"

#include "graph/base/text.h"

/* gw_sched_explain tells in a sentence or more why a task is where it is. */
void gw_sched_explain(const struct gw_sched *sched, struct gw_job *job, uint32_t row, char *text,
                      size_t text_bytes);

/* gw_sched_explain_job tells how an ended job of several tasks ended: how many failed, and of the
 * first cause which task and why. */
void gw_sched_explain_job(const struct gw_sched *sched, struct gw_job *job, char *text,
                          size_t text_bytes);

/* gw_sched_explain_range tells how far a range is, and explains one of its rows. */
void gw_sched_explain_range(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                            char *text, size_t text_bytes);

/* The parts of it, each for a row that is in such a state; they append to a text. */
void gw_sched_explain_wait_waiting(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                   struct gw_text *text);
void gw_sched_explain_wait_ready(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                 struct gw_text *text);
void gw_sched_explain_end(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                          struct gw_text *text);

/* What is said in more states than one: how long ago something was; by whom a job is paused, and
 * how it goes on; a preference that nothing can meet now; what a gang does with fewer ranks. */
void gw_sched_explain_wait_ago(const struct gw_sched *sched, uint64_t at_ns, struct gw_text *text);
void gw_sched_explain_wait_paused(const struct gw_sched *sched, const struct gw_job *job,
                                  struct gw_text *text);
void gw_sched_explain_wait_preferred(const struct gw_sched *sched, const struct gw_shape *shape,
                                     struct gw_text *text);
void gw_sched_explain_wait_elastic(const struct gw_sched *sched, const struct gw_job *job,
                                   uint32_t row, struct gw_text *text);

#endif
