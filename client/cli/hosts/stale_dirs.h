/* Removes folders of workers whose cluster had another address. A cluster that gets a new port at
 * each start would otherwise leave one folder for each start on every host. */
#ifndef GW_CLI_STALE_DIRS_H
#define GW_CLI_STALE_DIRS_H

#define GW_STALE_DIRS_DAYS 7

/* gw_stale_dirs_tidy checks all folders in `dir` whose names begin with `prefix`, except the folder
 * `own`. If no worker uses a folder, it is removed if it has no files of jobs, or if it was unused
 * for GW_STALE_DIRS_DAYS. Otherwise only uploaded programs and files in it are removed, because
 * they can be sent again; output and checkpoints stay. It prints on stderr if files of jobs are
 * removed, or if a folder cannot be removed. It blocks. */
void gw_stale_dirs_tidy(const char *dir, const char *prefix, const char *own);

#endif
