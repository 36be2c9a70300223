/* Whose jobs a peer may act on. */
#ifndef GW_SCHEDULER_CORE_ACCESS_H
#define GW_SCHEDULER_CORE_ACCESS_H

#include "scheduler/core/model/state.h"

enum { GW_REMOTE_WHO_MAX = 160 };

/* gw_sched_access_job and gw_sched_access_row: GW_ENOENT for a job or task that is not there (any
 * more), GW_EPERM for another user's. */
int gw_sched_access_job(const struct gw_job *job, uint64_t id, uint32_t uid,
                        struct gw_error *error);
int gw_sched_access_row(const struct gw_job *job, uint64_t id, uint32_t row, uint32_t uid,
                        struct gw_error *error);

/* gw_sched_access_uid is whose jobs a peer acts on where it asks for this one (NULL: none): its own
 * user's, and an admin or a worker, which fetches inputs, anybody's. */
uint32_t gw_sched_access_uid(const struct gw_remote *remote, const struct gw_job *job);

/* gw_sched_access_who writes a client's name for people into `who` and returns it. The user's
 * number is left out if the client came by a token: its name has the user's name already. */
const char *gw_sched_access_who(const struct gw_remote *remote, char who[GW_REMOTE_WHO_MAX]);

/* gw_sched_access_remote gives the remote of a connection, or NULL. */
struct gw_remote *gw_sched_access_remote(const struct gw_sched *sched, gw_peer peer);

#endif
