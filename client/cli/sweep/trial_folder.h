/* The folders in which trials keep their checkpoints: DIR/NUMBER, on a disk that all hosts share.
 */
#ifndef GW_CLI_TRIAL_FOLDER_H
#define GW_CLI_TRIAL_FOLDER_H

#include <gangway/search.h>
#include <limits.h>

/* gw_trial_folder_path writes the path of a trial's folder. A dir that is not absolute is below
 * `cwd`. Returns 0, or GW_EINVAL if the path is too long. */
int gw_trial_folder_path(const char *cwd, const char *dir, uint32_t number,
                         char path[static PATH_MAX], struct gw_error *error);

/* gw_trial_folder_make makes the folder of a trial that starts. If the trial is a copy of another
 * one, the folder gets a copy of the other's files in place of its own. It blocks while it copies.
 * Returns 0 or GW_EIO. */
int gw_trial_folder_make(const char *cwd, const char *dir, const struct gw_trial *trial,
                         struct gw_error *error);

#endif
