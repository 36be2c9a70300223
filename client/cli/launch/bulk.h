/* Many commands as one job: `--array`, `--each-line` and `--from-json` of `submit` and `dispatch`.
 */
#ifndef GW_CLI_BULK_H
#define GW_CLI_BULK_H

#include "client/cli/launch/launch_options.h"

#include <gangway/gangway.h>

struct gw_bulk;

/* Jobs that have to end before the new job starts; borrowed. */
struct gw_bulk_after {
    const uint64_t *jobs;
    size_t count;
    bool any;
};

/* gw_bulk_wanted returns true if the options ask for many commands. */
bool gw_bulk_wanted(const struct gw_launch_options *options);

/* gw_bulk_reads_stdin returns true if the commands are read from standard input, which can be read
 * only once. */
bool gw_bulk_reads_stdin(const struct gw_launch_options *options);

/* gw_bulk_submit submits the commands as one job. `options` and `client` are borrowed. Errors:
 * GW_EINVAL: an option or the file is malformed (the text says where); and the errors of
 * gw_client_submit_many and gw_map_range. */
int gw_bulk_submit(struct gw_client *client, const struct gw_launch_options *options,
                   const struct gw_bulk_after *after, struct gw_bulk **bulk,
                   struct gw_error *error);
uint64_t gw_bulk_job(const struct gw_bulk *bulk);
size_t gw_bulk_tasks(const struct gw_bulk *bulk);

/* gw_bulk_run waits for all tasks. It prints the output of each task when the task has ended, with
 * its number or name before each line. It returns the exit code of the first failed task, or 0. */
int gw_bulk_run(struct gw_bulk *bulk);
void gw_bulk_free(struct gw_bulk *bulk);

#endif
