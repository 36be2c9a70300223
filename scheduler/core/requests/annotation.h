/* Annotations: name=value pairs that users attach to tasks for their own purposes. */
#ifndef GW_SCHEDULER_CORE_ANNOTATION_H
#define GW_SCHEDULER_CORE_ANNOTATION_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

/* gw_sched_annotations returns the annotations of `count` specs from spec `first` on (at most 16
 * specs) as a dict. If several specs have an annotation of the same name, the first one is used. */
struct gw_value *gw_sched_annotations(const struct gw_job *job, uint32_t first, uint32_t count);

/* gw_sched_annotation_has returns true if one spec of the job has all annotations of the dict
 * `where` with the same values. */
bool gw_sched_annotation_has(const struct gw_job *job, const struct gw_value *where);

/* gw_sched_annotation_check returns GW_EINVAL if the spec's annotations are not a well-formed list.
 */
int gw_sched_annotation_check(const struct gw_msg_spec *spec, struct gw_error *error);

#endif
