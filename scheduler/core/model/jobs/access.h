/* Checks whether a peer may act on a job. */
#ifndef GW_SCHEDULER_CORE_ACCESS_H
#define GW_SCHEDULER_CORE_ACCESS_H

#include "scheduler/core/model/state.h"

enum { GW_REMOTE_WHO_MAX = 160 };

/* gw_sched_access_job and gw_sched_access_row return GW_ENOENT if the job or task does not exist
 * (any more), or GW_EPERM if it belongs to another user. */
int gw_sched_access_job(const struct gw_job *job, uint64_t id, uint32_t uid,
                        struct gw_error *error);
int gw_sched_access_row(const struct gw_job *job, uint64_t id, uint32_t row, uint32_t uid,
                        struct gw_error *error);

/* gw_sched_access_uid returns the uid to check a peer's request for this job (NULL: no job) with.
 * It is the peer's own uid. For an admin, and for a worker, which fetches inputs, it is the uid of
 * the job's owner. */
uint32_t gw_sched_access_uid(const struct gw_remote *remote, const struct gw_job *job);

/* gw_sched_access_sees returns true if a client may see what the tasks of a job reported: results,
 * failure texts, metrics and progress. NULL: the scheduler itself, which sees everything. */
bool gw_sched_access_sees(const struct gw_remote *remote, const struct gw_job *job);

/* gw_sched_access_who writes the name of a client for people into `who` and returns it. The uid is
 * left out if the client has a token, because its name contains the user's name already. */
const char *gw_sched_access_who(const struct gw_remote *remote, char who[GW_REMOTE_WHO_MAX]);

/* gw_sched_access_remote returns the remote of a connection, or NULL. */
struct gw_remote *gw_sched_access_remote(const struct gw_sched *sched, gw_peer peer);

#endif
