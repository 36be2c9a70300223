/* Fetches files and checkpoints of tasks from other hosts. */
#ifndef GW_CLI_FETCH_H
#define GW_CLI_FETCH_H

#include "client/cli/launch/console.h"

/* gw_fetch_files fetches each of `paths` into the folder `into`, which it makes if necessary.
 * `console` names the task. `paths` ends with NULL, and its strings are modified. It blocks.
 * Errors: GW_ETASK: the task has no such file; GW_EIO. */
int gw_fetch_files(struct gw_console_options *console, char **paths, const char *into,
                   struct gw_error *error);

/* gw_fetch_checkpoint fetches a task's checkpoint folder into the folder `into`, which it makes if
 * necessary. `ranks` is the largest number of ranks of a gang; 0: an ordinary task; UINT32_MAX: ask
 * the scheduler. For a gang, it also fetches the files that ranks on other hosts wrote; if several
 * hosts have a file, the newest is kept. It blocks. Errors: GW_ENOENT: there is no checkpoint;
 * GW_ELOST; GW_ETASK; GW_EIO. */
int gw_fetch_checkpoint(struct gw_client *client, const struct gw_selected_task *task,
                        uint32_t ranks, const char *into, struct gw_error *error);

/* gw_fetch_find_checkpoint returns 0 if the checkpoint folder has files. GW_ENOENT: it is empty.
 * Other errors: unknown, and the text says why. */
int gw_fetch_find_checkpoint(struct gw_client *client, const struct gw_selected_task *task,
                             struct gw_error *error);

#endif
