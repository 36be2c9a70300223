/* Explains in sentences for people why a task is in its present state. Read only. */
#ifndef GW_SCHEDULER_CORE_EXPLAIN_H
#define GW_SCHEDULER_CORE_EXPLAIN_H

#include "scheduler/core/model/state.h"

#include "graph/base/text.h"
#include "graph/value/value.h"

/* gw_sched_explain writes why a task is in its present state. It returns the reason as a word for
 * programs, such as "running" or "resources". The words do not change between versions. */
const char *gw_sched_explain(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                             char *text, size_t text_bytes);

/* gw_sched_explain_job describes how an ended job of several tasks ended: how many tasks failed,
 * and which task failed first and why. */
const char *gw_sched_explain_job(const struct gw_sched *sched, struct gw_job *job, char *text,
                                 size_t text_bytes);

/* gw_sched_explain_range describes the progress of a range and explains one of its rows. */
const char *gw_sched_explain_range(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                   char *text, size_t text_bytes);

/* Parts of an explanation. Each function is for rows in the state that its name gives, appends to
 * the text, and returns the reason. */
const char *gw_sched_explain_wait_waiting(const struct gw_sched *sched, struct gw_job *job,
                                          uint32_t row, struct gw_text *text);
const char *gw_sched_explain_wait_ready(const struct gw_sched *sched, struct gw_job *job,
                                        uint32_t row, struct gw_text *text);
const char *gw_sched_explain_end(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                 struct gw_text *text);

/* gw_sched_start_tell appends when a task is expected to start, if it waits for a reason (code)
 * that time alone may remove, and puts the same into the dict `parts`. */
void gw_sched_start_tell(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                         const char *code, struct gw_text *text, struct gw_value *parts);

/* Phrases that are used for several states: how long ago something happened, who paused a job and
 * how to resume it, a preferred worker or host that does not exist now, and why a gang runs with
 * fewer ranks. */
void gw_sched_explain_wait_ago(const struct gw_sched *sched, uint64_t at_ns, struct gw_text *text);
void gw_sched_explain_wait_paused(const struct gw_sched *sched, const struct gw_job *job,
                                  struct gw_text *text);
void gw_sched_explain_wait_preferred(const struct gw_sched *sched,
                                     const struct gw_resource_class *shape, struct gw_text *text);
void gw_sched_explain_wait_elastic(const struct gw_sched *sched, const struct gw_job *job,
                                   uint32_t row, struct gw_text *text);

/* These functions explain preemptions, if there are any. gw_sched_preemption_tell_ready: by whom
 * the last attempt of a ready task was preempted, and whom the task preempts; before other reasons.
 * gw_sched_preemption_tell_victim: by whom a running task is preempted. */
void gw_sched_preemption_tell_ready(const struct gw_sched *sched, const struct gw_job *job,
                                    uint32_t row, struct gw_text *text);
void gw_sched_preemption_tell_victim(const struct gw_sched *sched, const struct gw_job *job,
                                     uint32_t row, struct gw_text *text);

#endif
