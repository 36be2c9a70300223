/* The command of one trial. */
#ifndef GW_CLI_TRIAL_COMMAND_H
#define GW_CLI_TRIAL_COMMAND_H

#include "client/cli/sweep/sweep_definition.h"

/* gw_trial_command_make is gw_sweep_options.make; arg is the definition. */
int gw_trial_command_make(const struct gw_trial *trial, struct gw_graph *graph,
                          struct gw_sweep_task *task, void *arg, struct gw_error *error);

/* gw_trial_command_text writes the command line of a trial, as one types it. The caller frees
 * it. NULL: out of memory. */
char *gw_trial_command_text(const struct gw_sweep_definition *definition,
                            const struct gw_trial *trial);

#endif
