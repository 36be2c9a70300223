/* Annotations: what people wrote onto tasks, for themselves. */
#ifndef GW_SCHEDULER_CORE_ANNOTATION_H
#define GW_SCHEDULER_CORE_ANNOTATION_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

/* gw_sched_annotations gives those of `count` specs from `first` on (16 of them at most) as a dict;
 * of one name the first counts. */
struct gw_value *gw_sched_annotations(const struct gw_job *job, uint32_t first, uint32_t count);

/* gw_sched_annotation_has tells whether a spec of the job has all of a dict's names with its
 * values. */
bool gw_sched_annotation_has(const struct gw_job *job, const struct gw_value *where);

/* gw_sched_annotation_check refuses (GW_EINVAL) what is no list of annotations. */
int gw_sched_annotation_check(const struct gw_msg_spec *spec, struct gw_error *error);

#endif
