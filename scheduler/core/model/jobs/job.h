/* Jobs, from their first message until they are forgotten. */
#ifndef GW_SCHEDULER_CORE_JOBS_JOB_H
#define GW_SCHEDULER_CORE_JOBS_JOB_H

#include "scheduler/core/model/state.h"

/* gw_sched_job_find returns a job by its id, or NULL if it does not exist (any more). */
struct gw_job *gw_sched_job_find(const struct gw_sched *sched, uint64_t id);

/* gw_sched_job_open creates a job of a session for a new request and returns it. */
struct gw_job *gw_sched_job_open(struct gw_sched *sched, struct gw_session *session,
                                 uint64_t request);

/* gw_sched_job_name sets the name of a job that has none: to `name`, or to its first function. */
void gw_sched_job_name(struct gw_job *job, const char *name);

/* gw_sched_job_shown_ended returns true if clients may know that the job has ended. */
bool gw_sched_job_shown_ended(const struct gw_sched *sched, const struct gw_job *job);

/* gw_sched_job_is_value returns true if the job is a scattered value. Such a job is not in the
 * history, and is forgotten when the value was given up and nothing can need it again. */
bool gw_sched_job_is_value(const struct gw_job *job);

/* For model/ and the end of the core. gw_sched_job_seal: no more chunks will arrive.
 * gw_sched_job_reopen: tasks of an ended job run again. gw_sched_job_leave_session: the session of
 * the job has ended. */
void gw_sched_job_seal(struct gw_sched *sched, struct gw_job *job, uint64_t wall_ns);
void gw_sched_job_reopen(struct gw_sched *sched, struct gw_job *job);
void gw_sched_job_leave_session(struct gw_job *job);

/* gw_sched_job_new creates an empty job with this id and adds it to the list. The scheduler owns
 * it. Only for use in model/. */
struct gw_job *gw_sched_job_new(struct gw_sched *sched, uint64_t id);

/* gw_sched_job_ended_link adds an ended job to the history, or to the retained jobs, which the
 * history's limits do not touch. gw_sched_job_ended_unlink removes a job from both; it does nothing
 * for a scattered value. Only for use in model/. */
void gw_sched_job_ended_link(struct gw_sched *sched, struct gw_job *job);
void gw_sched_job_ended_unlink(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_job_ended_revisit moves an ended job between the two lists if the reason to retain it
 * has come or gone. gw_sched_job_revisit_all does so for all jobs of one list, in their order. Only
 * for use in model/. */
void gw_sched_job_ended_revisit(struct gw_sched *sched, struct gw_job *job);
void gw_sched_job_revisit_all(struct gw_sched *sched, const struct gw_ended_jobs *list);

enum { GW_JOB_KEY_BYTES_MAX = 255 };

/* gw_sched_job_key returns the key of a job, or "" if it has none. */
const char *gw_sched_job_key(const struct gw_job *job);

/* gw_sched_job_key_find returns the accepted job of this user with this key. Returns NULL if there
 * is none or the key is "". */
struct gw_job *gw_sched_job_key_find(const struct gw_sched *sched, uint32_t uid, const char *user,
                                     const char *key);

/* gw_sched_job_key_add is called when a job is accepted, and gw_sched_job_key_remove when it is
 * forgotten. The key is that of the first spec. */
void gw_sched_job_key_add(struct gw_sched *sched, const struct gw_job *job);
void gw_sched_job_key_remove(struct gw_sched *sched, const struct gw_job *job);

struct gw_job_rare {
    struct gw_map names;       /* row -> text in the arena */
    struct gw_map checkpoints; /* row -> its current struct gw_checkpointed * in the arena */
    struct gw_map wents;       /* row -> struct gw_went * in the arena, for started gangs */
    struct gw_map asks;        /* row -> struct gw_asked * in the arena; see gang_control.h */
    struct gw_map shares;      /* row -> its first struct gw_share * */
    struct gw_map pures;       /* row -> struct gw_pure * */
    bool had_pures;            /* rows of other jobs may be aliases of its rows */
    struct gw_buffer content;  /* messages of an open detached job, as frames */
    GW_ARRAY(struct gw_follower) followers;
    GW_ARRAY(struct gw_follower) befores; /* the jobs that it follows, as submitted */
    struct gw_map metrics;                /* row -> struct gw_metric * in the arena; see metric.h */
    uint32_t metric_row;                  /* row of the latest metric */
    struct gw_map ran;                    /* row -> struct gw_ran * in the arena; see job_usage.h */
};

/* gw_job_rare returns the fields that only few jobs have (struct gw_job_rare), for reading. They
 * are empty if the job has none. */
static inline const struct gw_job_rare *gw_job_rare(const struct gw_job *job)
{
    static const struct gw_job_rare nothing;
    return job->rare ? job->rare : &nothing;
}

/* gw_job_rare_make returns the rare fields for writing. Aborts if memory runs out. */
struct gw_job_rare *gw_job_rare_make(struct gw_job *job);

/* gw_job_rare_free frees the rare fields. What the maps point to must be freed before. */
void gw_job_rare_free(struct gw_job *job);

/* gw_sched_job_add_message keeps a message of a detached job until the last is in. */
void gw_sched_job_add_message(struct gw_job *job, const struct gw_message *message);
void gw_sched_job_set_sealed(struct gw_sched *sched, struct gw_job *job, uint64_t wall_ns);
void gw_sched_job_see_progress(struct gw_job *job, uint32_t index,
                               const struct gw_msg_progress *progress);

#endif
