/* Room in reserve: a file of some MiB lies in the state folder. If the disk is full, that file
 * goes, so that the ends of jobs still fit, and the facts of a start. */
#ifndef GW_SCHEDULER_STORE_RESERVE_H
#define GW_SCHEDULER_STORE_RESERVE_H

#include <gangway/error.h>
#include <stdbool.h>

/* gw_reserve_full tries to fill the reserve, and tells whether there is no room for it. The text
 * then says why (error may be NULL). */
bool gw_reserve_full(const char *dir, struct gw_error *error);

/* gw_reserve_take gives the reserve to what is to be written, and logs that. */
void gw_reserve_take(const char *dir);

/* gw_reserve_drop removes the file. */
void gw_reserve_drop(const char *dir);

/* gw_reserve_lack gives GW_EIO, with a text: the state does not fit, how much must be free, and how
 * much is. */
int gw_reserve_lack(const char *dir, const char *what, struct gw_error *error);

#endif
