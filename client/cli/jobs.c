/* `gangway jobs`: a line a job, of all or of some. */
#include "client/cli/cli.h"
#include "client/cli/listing.h"

int gw_cli_jobs(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"id", "JOB", GW_CELL_NUMBER},
        {"name", "NAME", GW_CELL_TEXT},
        {"state", "STATE", GW_CELL_TEXT},
        {"tasks", "TASKS", GW_CELL_MINOR_NUMBER},
        {"running", "RUNNING", GW_CELL_MINOR_NUMBER},
        {"done", "DONE", GW_CELL_NUMBER},
        {"failed", "FAILED", GW_CELL_NUMBER},
        {"ranks", "RANKS", GW_CELL_MINOR_NUMBER},
        {"tries", "TRIES", GW_CELL_MINOR_NUMBER},
        {"progress.shown", "PROGRESS", GW_CELL_MINOR_TEXT},
        {"submitted_ns", "AGE", GW_CELL_SINCE},
        {"session", "CLIENT", GW_CELL_MINOR_TEXT},
        {0},
    };
    const struct gw_listing listing = {
        .command = "jobs",
        .summary = "List this cluster's jobs, or these, the newest first.",
        .details = "JOB is a number, a list like 1,3,5-8, a name (the latest such job), last,\nor "
                   "all.",
        .query = "jobs",
        .columns = columns,
        .none = "no jobs",
        .where = true,
        .chosen = true,
    };
    return gw_listing_run(&listing, argc, argv);
}
