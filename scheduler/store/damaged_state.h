/* A damaged state: an admin has it set aside, and the next life begins without its jobs. */
#ifndef GW_SCHEDULER_STORE_DAMAGED_STATE_H
#define GW_SCHEDULER_STORE_DAMAGED_STATE_H

#include <gangway/error.h>
#include <limits.h>

/* gw_damaged_state_set_aside renames what lies in a state folder, so that the next gw_database_open
 * makes a new one; `to` gets the name of the folder in it that has the old one then. jobs: a folder
 * whose `checkpoints` and `logs` are renamed, too; NULL: none. Nothing of it is deleted. GW_EEXIST
 * where a scheduler has it, GW_EIO. */
int gw_damaged_state_set_aside(const char *dir, const char *jobs, char to[PATH_MAX],
                               struct gw_error *error);

#endif
