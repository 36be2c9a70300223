/* A sweep as the command line runs, finds and writes it. */
#ifndef GW_CLI_SWEEP_COMMAND_H
#define GW_CLI_SWEEP_COMMAND_H

#include "client/cli/sweep/sweep_definition.h"
#include "client/cli/sweep/sweep_live.h"

/* A struct of zeros is empty. */
struct gw_sweep_command {
    struct gw_sweep_definition definition;
    struct gw_sweep_live live;
    struct gw_sweep *sweep;
    char *text;               /* of the definition */
    struct gw_client *client; /* borrowed; to ask for reports after the end */
    const char *experiment;   /* in place of the definition's; NULL: none */
};

/* gw_sweep_command_words does what `gangway sweep WORDS` says, and returns its exit code. `verbs`
 * are listed in the help. */
int gw_sweep_command_words(char *const *words, const struct gw_cli_command *verbs);

/* gw_sweep_command_name writes the name of a sweep of this user: `typed`, or the latest one for
 * "last". GW_ENOENT: there is none. */
int gw_sweep_command_name(struct gw_client *client, const char *typed,
                          char name[static GW_SWEEP_NAME_MAX + 1], struct gw_error *error);

/* gw_sweep_command_find reads the definition of a sweep of the cluster (or of "last"), and loads
 * its trials if `load`. Call gw_sweep_command_deinit also if it fails. Errors: those of
 * gw_sweep_definition and gw_sweep_load. */
int gw_sweep_command_find(struct gw_client *client, const char *typed, bool load,
                          struct gw_sweep_command *command, struct gw_error *error);
void gw_sweep_command_deinit(struct gw_sweep_command *command);

/* gw_sweep_command_run runs the sweep of a definition to its end, prints the result, and returns
 * the exit code. It blocks. */
int gw_sweep_command_run(struct gw_sweep_command *command);

/* gw_sweep_command_write writes the trials as CSV or JSON; path NULL: to standard output. */
int gw_sweep_command_write(const struct gw_sweep_command *command, const char *path, bool json,
                           struct gw_error *error);

#endif
