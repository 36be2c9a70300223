/* The lock of a state folder: one scheduler uses it at a time. */
#ifndef GW_SCHEDULER_STORE_STATE_LOCK_H
#define GW_SCHEDULER_STORE_STATE_LOCK_H

#include <gangway/error.h>

/* gw_state_lock_take locks the folder. It writes the descriptor whose closing gives the lock back,
 * also if another scheduler holds the lock (GW_EEXIST); GW_EIO, with -1 in *taken. */
int gw_state_lock_take(const char *dir, int *taken, struct gw_error *error);

#endif
