/* Names of actors and coordination objects that belong to a job. */
#include "scheduler/core/model/jobs/scoped_name.h"

#include "graph/base/text.h"
#include "scheduler/core/model/jobs/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t gw_scoped_name_job(const char *name)
{
    const size_t digits = strspn(name, "0123456789");
    return digits > 0 && name[digits] == '/' ? strtoull(name, NULL, 10) : 0;
}

int gw_scoped_name_full(const struct gw_sched *sched, const struct gw_session *session,
                        const char *name, char full[GW_SCOPED_NAME_FULL_BYTES],
                        struct gw_error *error)
{
    const size_t bytes = strlen(name);
    const bool own = strncmp(name, "./", 2) == 0;
    uint64_t id = gw_scoped_name_job(name);
    if (bytes == 0 || bytes > GW_SCOPED_NAME_BYTES_MAX || !gw_text_is_line(name, bytes))
        return gw_error_set(error, GW_EINVAL,
                            "a name is 1 to %d bytes of UTF-8 without control characters",
                            GW_SCOPED_NAME_BYTES_MAX);
    if (own && session->attempt == GW_NO_INDEX)
        return gw_error_set(error, GW_EINVAL,
                            "%s: only inside a task is ./ a job: give the number of the job, as in "
                            "17%s",
                            name, name + 1);
    if (own)
        id = sched->attempts.items[session->attempt].job->id;
    (void)snprintf(full, GW_SCOPED_NAME_FULL_BYTES, "%s", name);
    if (id == 0)
        return 0;
    const char *rest = strchr(name, '/');
    const struct gw_job *job = gw_sched_job_find(sched, id);
    if (!job || job->uid != session->remote->uid || job->state == GW_JOB_ENDED)
        return gw_error_set(
            error, GW_ENOENT,
            "%s belongs to job %llu, which has ended or never existed: a name of no "
            "job does not begin with a number and a slash",
            name, (unsigned long long)id);
    if (!rest[1])
        return gw_error_set(error, GW_EINVAL, "%s: a name is missing after the slash", name);
    (void)snprintf(full, GW_SCOPED_NAME_FULL_BYTES, "%llu%s", (unsigned long long)id, rest);
    return 0;
}
