/* Writes the output of a task into files: DIR/stdout and DIR/stderr, for a gang DIR/rank.000/stdout
 * and so on. */
#ifndef GW_CLI_LOG_FILES_H
#define GW_CLI_LOG_FILES_H

#include "client/cli/launch/tail.h"

/* gw_log_files_write writes the output that the options select into a folder, which it makes if
 * necessary. `follow`, `json` and `future` are ignored. Existing files with these names are
 * replaced. A rank without output gets empty files. If the output may be incomplete, the reason is
 * printed on stderr. It blocks. Returns 0; GW_EIO with the path; or the error of reading. */
int gw_log_files_write(const struct gw_tail_options *options, const char *folder,
                       struct gw_error *error);

#endif
