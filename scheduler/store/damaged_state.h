/* Handles a damaged state: at the admin's request it is moved aside, and the next term begins
 * without its jobs. */
#ifndef GW_SCHEDULER_STORE_DAMAGED_STATE_H
#define GW_SCHEDULER_STORE_DAMAGED_STATE_H

#include <gangway/error.h>
#include <limits.h>

/* gw_damaged_state_set_aside moves the files of a state folder into a new folder inside it, so that
 * the next gw_database_open makes a new state. The path of the new folder is written to `to`. jobs:
 * a folder whose `checkpoints` and `logs` are renamed, too, or NULL. Nothing is deleted. Returns
 * GW_EEXIST if a scheduler uses the folder, or GW_EIO. */
int gw_damaged_state_set_aside(const char *dir, const char *jobs, char to[PATH_MAX],
                               struct gw_error *error);

#endif
