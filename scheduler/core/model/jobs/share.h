/* Results that are shared by name. */
#ifndef GW_SCHEDULER_CORE_JOBS_SHARE_H
#define GW_SCHEDULER_CORE_JOBS_SHARE_H

#include "scheduler/core/model/state.h"

enum { GW_SHARE_NAME_MAX = 255, PUBLISHED_MAX = 65536, KEY_BYTES = GW_SHARE_NAME_MAX + 16 };

/* A session's share has a request; a published one has a name and no session. */
struct gw_share {
    struct gw_session *session;
    uint64_t request;
    char *name, *publisher;
    uint64_t wall_ns; /* when it was published */
    struct gw_job *job;
    uint32_t index;
    uint32_t told;         /* enum gw_task_flag: GW_TASK_TOLD, GW_TASK_TOLD_FAILED */
    struct gw_share *next; /* of the task */
};

/* gw_sched_shares_of gives the first share of a task, NULL when it has none. */
struct gw_share *gw_sched_shares_of(const struct gw_job *job, uint32_t row);

/* gw_sched_share_failed tells whether a session that shares a task was told that it failed. */
bool gw_sched_share_failed(const struct gw_job *job, uint32_t row);

/* gw_sched_shares_free frees a job's shares; they go with the scheduler only. */
void gw_sched_shares_free(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_share_key writes the key of a published name: names are a user's own. */
void gw_sched_share_key(uint32_t uid, const char *name, char key[KEY_BYTES]);

/* gw_sched_shares_retell makes the sessions that were told that a task failed wait for its next
 * end. */
void gw_sched_shares_retell(struct gw_sched *sched, struct gw_job *job, uint32_t row);

#endif
