/* Checks whether a peer may act on a job. */
#include "scheduler/core/model/jobs/access.h"

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/range.h"

#include <stdio.h>

int gw_sched_access_job(const struct gw_job *job, uint64_t id, uint32_t uid, struct gw_error *error)
{
    if (!job)
        return gw_error_set(error, GW_ENOENT, "there is no job %llu", (unsigned long long)id);
    if (job->uid != uid)
        return gw_error_set(
            error, GW_EPERM,
            "job %llu belongs to another user: only that user or an admin may do this",
            (unsigned long long)id);
    return 0;
}

uint32_t gw_sched_access_uid(const struct gw_remote *remote, const struct gw_job *job)
{
    return job && (remote->admin || remote->worker) ? job->uid : remote->uid;
}

bool gw_sched_access_sees(const struct gw_remote *remote, const struct gw_job *job)
{
    return !remote || remote->admin || remote->uid == job->uid;
}

int gw_sched_access_row(const struct gw_job *job, uint64_t id, uint32_t row, uint32_t uid,
                        struct gw_error *error)
{
    int rc = gw_sched_access_job(job, id, uid, error);
    if (rc < 0)
        return rc;
    if (row >= gw_sched_rows_in_all(job))
        return gw_error_set(error, GW_ENOENT, "job %llu has no task %u", (unsigned long long)id,
                            row);
    if (!gw_sched_row_live(job, row))
        return gw_error_set(error, GW_ENOENT, "task %u of job %llu %s", row, (unsigned long long)id,
                            row < job->tasks.count ? "has ended, and its data was freed"
                                                   : "has not begun");
    return 0;
}

const char *gw_sched_access_who(const struct gw_remote *remote, char who[GW_REMOTE_WHO_MAX])
{
    if (*remote->address)
        (void)snprintf(who, GW_REMOTE_WHO_MAX, "%s", remote->name);
    else
        (void)snprintf(who, GW_REMOTE_WHO_MAX, "%s (user %u)", remote->name, remote->uid);
    return who;
}

struct gw_remote *gw_sched_access_remote(const struct gw_sched *sched, gw_peer peer)
{
    uint64_t value;
    return gw_map_get(&sched->remotes, peer.id, &value) ? (struct gw_remote *)(uintptr_t)value
                                                        : NULL;
}
