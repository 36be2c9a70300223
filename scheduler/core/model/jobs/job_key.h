/* Idempotency keys: of all detached jobs of one user one has a key. */
#ifndef GW_SCHEDULER_CORE_JOB_KEY_H
#define GW_SCHEDULER_CORE_JOB_KEY_H

#include "scheduler/core/model/state.h"

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

#endif
