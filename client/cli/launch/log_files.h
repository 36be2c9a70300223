/* Output of a task in files: DIR/stdout and DIR/stderr, of a gang DIR/rank.000/stdout and so on. */
#ifndef GW_CLI_LOG_FILES_H
#define GW_CLI_LOG_FILES_H

#include "client/cli/launch/tail.h"

/* gw_log_files_write writes what options say (follow, json and future do not count) into a folder,
 * which it makes where it is not there; what lies there under these names is replaced. A rank that
 * has written nothing has empty files. Says on stderr why there may be less than was written.
 * Blocks. 0; GW_EIO with the path; the first reader's error.
 */
int gw_log_files_write(const struct gw_tail_options *options, const char *folder,
                       struct gw_error *error);

#endif
