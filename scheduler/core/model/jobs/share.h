/* Shared results. */
#ifndef GW_SCHEDULER_CORE_JOBS_SHARE_H
#define GW_SCHEDULER_CORE_JOBS_SHARE_H

#include "scheduler/core/model/state.h"

enum { GW_SHARE_NAME_MAX = 255, PUBLISHED_MAX = 65536, KEY_BYTES = GW_SHARE_NAME_MAX + 16 };

/* A share of a session has a request. A published share has a name and no session. */
struct gw_share {
    struct gw_session *session;
    uint64_t request;
    char *name, *publisher;
    uint64_t wall_ns; /* time of publication */
    struct gw_job *job;
    uint32_t index;
    uint32_t told;         /* enum gw_task_flag: GW_TASK_TOLD, GW_TASK_TOLD_FAILED */
    struct gw_share *next; /* next share of the same task */
};

/* gw_sched_shares_of returns the first share of a task, or NULL. */
struct gw_share *gw_sched_shares_of(const struct gw_job *job, uint32_t row);

/* gw_sched_share_failed returns true if a session that shares a task was told that the task failed.
 */
bool gw_sched_share_failed(const struct gw_job *job, uint32_t row);

/* gw_sched_shares_free frees the shares of a job, at the end of the scheduler. */
void gw_sched_shares_free(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_share_key writes the key of a published name. Each user has names of their own. */
void gw_sched_share_key(uint32_t uid, const char *name, char key[KEY_BYTES]);

/* gw_sched_shares_retell forgets which sessions were informed that a task failed, so that they are
 * informed of its next end, too. */
void gw_sched_shares_retell(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_share_add shares a result with a session, or publishes it if `name` is not NULL.
 * gw_sched_share_drop removes a share. gw_sched_share_tell records what the session was told about
 * the task. */
void gw_sched_share_add(struct gw_sched *sched, struct gw_session *session, uint64_t request,
                        struct gw_job *job, uint32_t index, const char *name);
void gw_sched_share_drop(struct gw_sched *sched, struct gw_share *share);
void gw_sched_share_tell(struct gw_share *share, uint32_t flags);

#endif
