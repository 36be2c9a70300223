/* Rare parts of jobs: made when the first of them is written, freed with the job. */
#include "scheduler/core/model/jobs/job_rare.h"

#include <stdlib.h>

struct gw_job_rare *gw_job_rare_make(struct gw_job *job)
{
    if (!job->rare) {
        job->rare = calloc(1, sizeof *job->rare);
        GW_MUST_PTR(job->rare);
    }
    return job->rare;
}

void gw_job_rare_free(struct gw_job *job)
{
    struct gw_job_rare *rare = job->rare;
    if (!rare)
        return;
    gw_map_deinit(&rare->names);
    gw_map_deinit(&rare->checkpoints);
    gw_map_deinit(&rare->wents);
    gw_map_deinit(&rare->asks);
    gw_map_deinit(&rare->shares);
    gw_map_deinit(&rare->pures);
    gw_buffer_deinit(&rare->content);
    gw_array_deinit(&rare->followers);
    gw_array_deinit(&rare->befores);
    gw_map_deinit(&rare->metrics);
    gw_map_deinit(&rare->ran);
    free(rare);
    job->rare = NULL;
}
