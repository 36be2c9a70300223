/* Names of users, by the uids that messages and jobs contain. The names are durable, because jobs
 * outlive connections. */
#ifndef GW_SCHEDULER_CORE_USER_H
#define GW_SCHEDULER_CORE_USER_H

#include "scheduler/core/model/state.h"

/* gw_user_seen records the name of a connecting user (NULL: unknown). */
void gw_user_seen(struct gw_sched *sched, uint32_t uid, const char *name);

enum { GW_USER_NAME_MAX = 16 };

/* gw_user_name returns the name of a user (borrowed). If it is unknown, the function returns the
 * uid as text, written to `text`. */
const char *gw_user_name(const struct gw_sched *sched, uint32_t uid, char text[GW_USER_NAME_MAX]);

/* gw_user_is returns true if `word`, a name or a uid as text, means this user. */
bool gw_user_is(const struct gw_sched *sched, uint32_t uid, const char *word);

/* gw_users_deinit frees the names. */
void gw_users_deinit(struct gw_sched *sched);

#endif
