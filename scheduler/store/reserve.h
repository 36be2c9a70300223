/* A reserve of disk space: a file of some MiB in the state folder. If the disk is full, the file is
 * removed, so that the facts of a start and the ends of jobs can still be written. */
#ifndef GW_SCHEDULER_STORE_RESERVE_H
#define GW_SCHEDULER_STORE_RESERVE_H

#include <gangway/error.h>
#include <stdbool.h>

/* gw_reserve_full tries to create the reserve file at its full size. It returns true if there is no
 * room for it, with the reason in `error` (may be NULL). */
bool gw_reserve_full(const char *dir, struct gw_error *error);

/* gw_reserve_take removes the reserve file to make room for a write, and logs that. */
void gw_reserve_take(const char *dir);

/* gw_reserve_drop removes the file. */
void gw_reserve_drop(const char *dir);

/* gw_reserve_lack returns GW_EIO with a text that says that the state does not fit, how much space
 * must be free, and how much is free. */
int gw_reserve_lack(const char *dir, const char *what, struct gw_error *error);

#endif
