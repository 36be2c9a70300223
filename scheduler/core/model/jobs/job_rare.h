/* What few jobs have. Each value that somebody scattered is a job, and has none of it. */
#ifndef GW_SCHEDULER_CORE_JOB_RARE_H
#define GW_SCHEDULER_CORE_JOB_RARE_H

#include "scheduler/core/model/state.h"

struct gw_job_rare {
    struct gw_map names;       /* row -> text in the arena */
    struct gw_map checkpoints; /* row -> struct gw_checkpointed * in the arena, the current one */
    struct gw_map wents;       /* row -> struct gw_went * in the arena, of gangs that went */
    struct gw_map asks;        /* row -> struct gw_asked * in the arena; see gang_ask.h */
    struct gw_map shares;      /* row -> struct gw_share *, the first */
    struct gw_map pures;       /* row -> struct gw_pure * */
    bool had_pures;            /* so there may be aliases of its rows, whatever became of those */
    struct gw_buffer content;  /* detached and open: its messages as frames */
    GW_ARRAY(struct gw_follower) followers;
    GW_ARRAY(struct gw_follower) befores; /* what it follows, as it was submitted */
    struct gw_map metrics;                /* row -> struct gw_metric * in the arena; see metric.h */
    uint32_t metric_row;                  /* of the latest of all */
    struct gw_map ran;                    /* row -> struct gw_ran * in the arena; see job_usage.h */
};

/* gw_job_rare gives what a job has of it; empty where it has nothing. */
static inline const struct gw_job_rare *gw_job_rare(const struct gw_job *job)
{
    static const struct gw_job_rare nothing;
    return job->rare ? job->rare : &nothing;
}

/* gw_job_rare_make gives it to be written to. Aborts when out of memory. */
struct gw_job_rare *gw_job_rare_make(struct gw_job *job);

/* gw_job_rare_free frees it; what the maps lead to is freed before. */
void gw_job_rare_free(struct gw_job *job);

#endif
