/* Folders of workers of clusters at other addresses, which never come back to them: each cluster at
 * a port of its own leaves one on every host. */
#ifndef GW_CLI_STALE_DIRS_H
#define GW_CLI_STALE_DIRS_H

#define GW_STALE_DIRS_DAYS 7

/* gw_stale_dirs_tidy looks at all in `dir` whose names begin with `prefix`, but `own`, a name
 * there: where no worker lives and none has for GW_STALE_DIRS_DAYS, or where nothing is of a job,
 * the folder goes; else what was shipped there goes, which is shipped again where it is wanted, and
 * output and checkpoints stay. On stderr it says what of jobs goes, and what stays against its
 * will. Blocks. */
void gw_stale_dirs_tidy(const char *dir, const char *prefix, const char *own);

#endif
