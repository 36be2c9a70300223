/* The lock of a state folder: one scheduler uses it at a time. */
#ifndef GW_SCHEDULER_STORE_STATE_LOCK_H
#define GW_SCHEDULER_STORE_STATE_LOCK_H

#include <gangway/error.h>

/* gw_state_lock_take locks the folder and sets *taken to a descriptor. Closing the descriptor
 * releases the lock. Returns GW_EEXIST if another scheduler holds the lock (the descriptor must be
 * closed in this case, too), or GW_EIO with -1 in *taken. */
int gw_state_lock_take(const char *dir, int *taken, struct gw_error *error);

#endif
