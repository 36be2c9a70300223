/* Users: what the numbers in messages and jobs are called. Durable: jobs outlive connections. */
#ifndef GW_SCHEDULER_CORE_USER_H
#define GW_SCHEDULER_CORE_USER_H

#include "scheduler/core/model/state.h"

/* gw_user_seen notes what a user is called that connects (NULL: nobody knows). */
void gw_user_seen(struct gw_sched *sched, uint32_t uid, const char *name);

enum { GW_USER_NAME_MAX = 16 };

/* gw_user_name returns a user's name (borrowed), or if none is known the number as text, in `text`.
 */
const char *gw_user_name(const struct gw_sched *sched, uint32_t uid, char text[GW_USER_NAME_MAX]);

/* gw_user_is tells whether a word, a name or a number, means a user. */
bool gw_user_is(const struct gw_sched *sched, uint32_t uid, const char *word);

/* gw_users_deinit frees them. */
void gw_users_deinit(struct gw_sched *sched);

#endif
