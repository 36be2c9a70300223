/* Names of actors and coordination objects that belong to a job: "17/inbox" belongs to job 17 and
 * ends with it. Names without a number and a slash at their beginning belong to no job. */
#ifndef GW_SCHEDULER_CORE_JOBS_SCOPED_NAME_H
#define GW_SCHEDULER_CORE_JOBS_SCOPED_NAME_H

#include "scheduler/core/model/state.h"

enum {
    GW_SCOPED_NAME_BYTES_MAX = 255, /* of a request; "./" may become a number and "/" */
    GW_SCOPED_NAME_FULL_BYTES = GW_SCOPED_NAME_BYTES_MAX + 32,
};

/* gw_scoped_name_job returns the number of the job to which a full name belongs, or 0. */
uint64_t gw_scoped_name_job(const char *name);

/* gw_scoped_name_full writes the full name of a client's request: "./inbox" becomes "17/inbox" in a
 * task of job 17. GW_EINVAL: malformed, or "./" outside of a task. GW_ENOENT: the job to which the
 * name belongs has ended or never existed. */
int gw_scoped_name_full(const struct gw_sched *sched, const struct gw_session *session,
                        const char *name, char full[GW_SCOPED_NAME_FULL_BYTES],
                        struct gw_error *error);

#endif
