/* Files and checkpoints of tasks that ran on other hosts, brought here. */
#ifndef GW_CLI_FETCH_H
#define GW_CLI_FETCH_H

#include "client/cli/launch/console.h"

/* gw_fetch_files brings each of `paths` (NULL at its end; they are cut) of the task that `console`
 * names into the folder `into`, which is made. GW_ETASK: it has no such file; GW_EIO. Blocks. */
int gw_fetch_files(struct gw_console_options *console, char **paths, const char *into,
                   struct gw_error *error);

/* gw_fetch_checkpoint brings what is in a task's folder of checkpoints into the folder `into`,
 * which is made; of a gang (ranks: how many it may have; 0: it is none; UINT32_MAX: look) also what
 * ranks on other hosts wrote: of one name the newer file. GW_ENOENT: there is none; GW_ELOST;
 * GW_ETASK; GW_EIO. Blocks.
 */
int gw_fetch_checkpoint(struct gw_client *client, const struct gw_selected_task *task,
                        uint32_t ranks, const char *into, struct gw_error *error);

/* gw_fetch_find_checkpoint asks whether there is something in it: 0; GW_ENOENT: there is nothing;
 * others: nobody can tell, as the text says. */
int gw_fetch_find_checkpoint(struct gw_client *client, const struct gw_selected_task *task,
                             struct gw_error *error);

#endif
