/* Many commands at once: `--array`, `--each-line`, `--from-json` of `submit` and `dispatch`. */
#ifndef GW_CLI_BULK_H
#define GW_CLI_BULK_H

#include "client/cli/launch/launch_options.h"

#include <gangway/gangway.h>

struct gw_bulk;

/* Which jobs it comes after; borrowed. */
struct gw_bulk_after {
    const uint64_t *jobs;
    size_t count;
    bool any;
};

/* gw_bulk_wanted tells whether the options ask for many commands. */
bool gw_bulk_wanted(const struct gw_launch_options *options);

/* gw_bulk_reads_stdin tells whether the commands come from standard input, which can be read once.
 */
bool gw_bulk_reads_stdin(const struct gw_launch_options *options);

/* gw_bulk_submit submits them as one job; options and client are borrowed. GW_EINVAL for what was
 * typed or stands in a file, with where it is wrong; and what submitting gives. */
int gw_bulk_submit(struct gw_client *client, const struct gw_launch_options *options,
                   const struct gw_bulk_after *after, struct gw_bulk **bulk,
                   struct gw_error *error);
uint64_t gw_bulk_job(const struct gw_bulk *bulk);
size_t gw_bulk_tasks(const struct gw_bulk *bulk);

/* gw_bulk_run prints each task's output when it has ended, with its number or name before each
 * line, and gives the exit code: the first failed task's, or 0. */
int gw_bulk_run(struct gw_bulk *bulk);
void gw_bulk_free(struct gw_bulk *bulk);

#endif
