/* The key is in the first spec of a job, which a detached job keeps on disk: nothing else is kept.
 * The table has numbers for keys, and the job says whether it is meant. */
#include "scheduler/core/model/jobs/job_key.h"

#include "scheduler/core/model/jobs/job.h"

#include <string.h>

const char *gw_sched_job_key(const struct gw_job *job)
{
    const char *key = job->specs.count ? job->specs.items[0].message.job_key : NULL;
    return key ? key : "";
}

/* FNV-1a. */
static uint64_t add_text(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    while (*text++);
    return hash;
}

static uint64_t hash_of(uint32_t uid, const char *user, const char *key)
{
    return add_text(add_text(UINT64_C(14695981039346656037) ^ uid, user), key);
}

struct gw_job *gw_sched_job_key_find(const struct gw_sched *sched, uint32_t uid, const char *user,
                                     const char *key)
{
    uint64_t id;
    if (!key || !*key || !gw_map_get(&sched->job_keys, hash_of(uid, user, key), &id))
        return NULL;
    struct gw_job *job = gw_sched_job_find(sched, id);
    return job && job->uid == uid && strcmp(job->user, user) == 0 &&
                   strcmp(gw_sched_job_key(job), key) == 0
               ? job
               : NULL;
}

void gw_sched_job_key_add(struct gw_sched *sched, const struct gw_job *job)
{
    const char *key = gw_sched_job_key(job);
    if (*key)
        GW_MUST(gw_map_put(&sched->job_keys, hash_of(job->uid, job->user, key), job->id));
}

void gw_sched_job_key_remove(struct gw_sched *sched, const struct gw_job *job)
{
    const char *key = gw_sched_job_key(job);
    if (*key && gw_sched_job_key_find(sched, job->uid, job->user, key) == job)
        (void)gw_map_remove(&sched->job_keys, hash_of(job->uid, job->user, key));
}
