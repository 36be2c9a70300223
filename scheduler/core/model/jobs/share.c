/* Shared results. */
#include "scheduler/core/model/jobs/share.h"

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gw_share *gw_sched_shares_of(const struct gw_job *job, uint32_t row)
{
    uint64_t value;
    return gw_map_get(&gw_job_rare(job)->shares, row, &value) ? (struct gw_share *)(uintptr_t)value
                                                              : NULL;
}

/* The key contains the uid, because each user has names of their own. */
void gw_sched_share_key(uint32_t uid, const char *name, char key[KEY_BYTES])
{
    (void)snprintf(key, KEY_BYTES, "%u/%s", uid, name);
}

void gw_sched_share_add(struct gw_sched *sched, struct gw_session *session, uint64_t request,
                        struct gw_job *job, uint32_t index, const char *name)
{
    struct gw_share *share = calloc(1, sizeof *share);
    GW_MUST_PTR(share);
    *share = (struct gw_share){.session = name ? NULL : session,
                               .request = request,
                               .job = job,
                               .index = index,
                               .next = gw_sched_shares_of(job, index)};
    GW_MUST(gw_map_put(&gw_job_rare_make(job)->shares, index, (uintptr_t)share));
    job->shared++;
    job->tasks.users[index]++;
    if (!name) {
        GW_MUST(gw_map_put(&session->shares, request, (uintptr_t)share));
        return;
    }
    char key[KEY_BYTES];
    gw_sched_share_key(job->uid, name, key);
    share->wall_ns = sched->wall_ns;
    share->name = strdup(name);
    share->publisher = strdup(session->remote->name);
    GW_MUST_PTR(share->name);
    GW_MUST_PTR(share->publisher);
    GW_MUST(gw_strmap_put(&sched->published, key, (uintptr_t)share));
}

/* Removes a share from its lists and frees it. The caller checks whether the task is still needed.
 */
static void share_free(struct gw_sched *sched, struct gw_share *share)
{
    struct gw_job *job = share->job;
    struct gw_share *first = gw_sched_shares_of(job, share->index), **at = &first;
    while (*at != share)
        at = &(*at)->next;
    *at = share->next;
    if (first)
        GW_MUST(gw_map_put(&gw_job_rare_make(job)->shares, share->index, (uintptr_t)first));
    else
        (void)gw_map_remove(&job->rare->shares, share->index);
    job->shared--;
    if (share->session) {
        (void)gw_map_remove(&share->session->shares, share->request);
    } else {
        char key[KEY_BYTES];
        gw_sched_share_key(job->uid, share->name, key);
        (void)gw_strmap_remove(&sched->published, key);
    }
    free(share->name);
    free(share->publisher);
    free(share);
}

void gw_sched_share_drop(struct gw_sched *sched, struct gw_share *share)
{
    struct gw_row row = {share->job, share->index};
    share_free(sched, share);
    bool last = --row.job->tasks.users[row.index] == 0;
    if (last && row.job->tasks.state[row.index] == GW_TASK_DONE)
        GW_MUST(gw_array_push(&sched->idle, row));
    if (!gw_sched_task_final(row.job, row.index))
        GW_MUST(gw_array_push(&sched->unwanted, row));
    if (row.job->state == GW_JOB_ENDED)
        GW_MUST(gw_array_push(&sched->aging, row.job->id));
}

void gw_sched_shares_free(struct gw_sched *sched, struct gw_job *job)
{
    for (uint32_t row = 0; job->shared > 0; row++)
        for (struct gw_share *share; (share = gw_sched_shares_of(job, row));)
            share_free(sched, share);
}

void gw_sched_share_tell(struct gw_share *share, uint32_t flags)
{
    share->told = flags;
}

bool gw_sched_share_failed(const struct gw_job *job, uint32_t row)
{
    const struct gw_share *share = gw_sched_shares_of(job, row);
    while (share && !(share->told & GW_TASK_TOLD_FAILED))
        share = share->next;
    return share != NULL;
}

void gw_sched_shares_retell(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    for (struct gw_share *share = gw_sched_shares_of(job, row); share; share = share->next)
        if (share->told & GW_TASK_TOLD_FAILED)
            gw_sched_share_tell(share, 0);
}
