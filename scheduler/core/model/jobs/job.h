/* Jobs: from the first message about one until it is forgotten. */
#ifndef GW_SCHEDULER_CORE_JOBS_JOB_H
#define GW_SCHEDULER_CORE_JOBS_JOB_H

#include "scheduler/core/model/state.h"

/* gw_sched_job_find gives a job by its id, or NULL when there is none (any more). */
struct gw_job *gw_sched_job_find(const struct gw_sched *sched, uint64_t id);

/* gw_sched_job_open makes a job of a session for a request that is new; gives it. */
struct gw_job *gw_sched_job_open(struct gw_sched *sched, struct gw_session *session,
                                 uint64_t request);

/* gw_sched_job_name names it, where it has no name yet: by a text, else by its first function. */
void gw_sched_job_name(struct gw_job *job, const char *name);

/* gw_sched_job_shown_ended tells whether the job has ended for the world to see. */
bool gw_sched_job_shown_ended(const struct gw_sched *sched, const struct gw_job *job);

/* gw_sched_job_is_value: it is a value that somebody scattered, and no work: it is in nobody's
 * history, and forgotten when the value was given up and nothing can need it again. */
bool gw_sched_job_is_value(const struct gw_job *job);

/* For apply functions and the end of the core. gw_sched_job_seal: no more chunks come;
 * gw_sched_job_reopen: an ended job has tasks to run again; gw_sched_job_leave_session: its session
 * forgets it. */
void gw_sched_job_seal(struct gw_sched *sched, struct gw_job *job, uint64_t wall_ns);
void gw_sched_job_reopen(struct gw_sched *sched, struct gw_job *job);
void gw_sched_job_leave_session(struct gw_job *job);

/* gw_sched_job_new makes an empty job with an id and lists it, by id; for apply functions. The
 * scheduler owns it. */
struct gw_job *gw_sched_job_new(struct gw_sched *sched, uint64_t id);

/* gw_sched_job_ended_unlink takes a job out of the list of ended jobs; does nothing for a scattered
 * value. */
void gw_sched_job_ended_unlink(struct gw_sched *sched, struct gw_job *job);

enum { GW_JOB_KEY_BYTES_MAX = 255 };

/* gw_sched_job_key gives the key, "" where there is none. */
const char *gw_sched_job_key(const struct gw_job *job);

/* gw_sched_job_key_find gives the accepted job of this user with this key; NULL: there is none, or
 * the key is "". */
struct gw_job *gw_sched_job_key_find(const struct gw_sched *sched, uint32_t uid, const char *user,
                                     const char *key);

/* gw_sched_job_key_add is called where a job was accepted, gw_sched_job_key_remove where it is
 * forgotten: its key is that of its first spec. */
void gw_sched_job_key_add(struct gw_sched *sched, const struct gw_job *job);
void gw_sched_job_key_remove(struct gw_sched *sched, const struct gw_job *job);

struct gw_job_rare {
    struct gw_map names;       /* row -> text in the arena */
    struct gw_map checkpoints; /* row -> struct gw_checkpointed * in the arena, the current one */
    struct gw_map wents;       /* row -> struct gw_went * in the arena, of gangs that went */
    struct gw_map asks;        /* row -> struct gw_asked * in the arena; see gang_control.h */
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
