/* --notify: a command that runs after the end of a job. */
#ifndef GW_CLI_NOTIFY_H
#define GW_CLI_NOTIFY_H

#include "client/cli/launch/launch_options.h"

struct gw_client;

/* gw_notify_submit submits a detached job without slots that runs the command of --notify when the
 * detached job `job` has ended, however it ended. It is a job of the same user, with the same
 * environment and folder. Errors: as gw_client_submit_many. */
int gw_notify_submit(struct gw_client *client, const struct gw_launch_options *options,
                     uint64_t job, struct gw_error *error);

/* gw_notify_set sets GANGWAY_JOB and GANGWAY_OUTCOME of this process. The outcome is `unknown` if
 * the scheduler cannot be asked; then a message says why. client: NULL: there is none, see `why`.
 */
void gw_notify_set(struct gw_client *client, uint64_t job, const struct gw_error *why);

/* gw_notify_run runs a shell command on this machine and waits for it. If it fails, a message says
 * so. */
void gw_notify_run(const char *command);

#endif
