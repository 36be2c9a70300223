/* Reads the specs, tasks and names of a job as its client submitted them. */
#ifndef GW_SCHEDULER_CORE_JOBS_CONTENT_H
#define GW_SCHEDULER_CORE_JOBS_CONTENT_H

#include "scheduler/core/model/state.h"

struct gw_content_names {
    void (*each)(uint64_t job, void *arg);
    void *arg;
};

/* gw_sched_content_jobs calls `each` with the ids of the jobs that a content names. 0 stands for
 * the job itself. */
void gw_sched_content_jobs(struct gw_bin content, void (*each)(uint64_t job, void *arg), void *arg);

/* gw_sched_content_shape fills in the requirements of one task of a spec of a job. The caller must
 * unref shape->need. Returns GW_EINVAL with a text. */
int gw_sched_content_shape(const struct gw_sched *sched, const struct gw_job *job,
                           const struct gw_msg_spec *spec, struct gw_resource_class *shape,
                           struct gw_error *error);

/* gw_sched_content_pure_rows returns how many tasks of a chunk may be pure (all, or 0 if no spec
 * is pure). Each of them may get one more dependency than submitted. */
uint32_t gw_sched_content_pure_rows(const struct gw_job *job, const struct gw_msg_submit *chunk);

/* gw_sched_content_each decodes a sequence of frames and calls `each` with every message. A message
 * is valid only during the call. It stops at the first error, of the decoder or of `each`, and
 * returns it. */
int gw_sched_content_each(struct gw_sched *sched, struct gw_bin content,
                          int (*each)(struct gw_sched *sched, const struct gw_message *message,
                                      void *arg, struct gw_error *error),
                          void *arg, struct gw_error *error);

#endif
