/* `gangway queue`: lists the queues of a cluster. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/listing.h"
#include "client/cli/lib/options.h"

static int run_queues(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"name", "QUEUE", GW_CELL_NAME},
        {"priority", "PRIORITY", GW_CELL_NUMBER},
        {"default_time_limit_ns", "TIME", GW_CELL_DURATION},
        {"time_limit_ns", "MAX TIME", GW_CELL_DURATION},
        {"shown.jobs", "JOBS", GW_CELL_MINOR_TEXT},
        {"shown.running", "RUNNING", GW_CELL_MINOR_TEXT},
        {"shown.slots", "SLOTS", GW_CELL_TEXT},
        {"shown.gpus", "GPUS", GW_CELL_TEXT},
        {"accounts", "ACCOUNTS", GW_CELL_TEXT},
        {"workers", "WORKERS", GW_CELL_TEXT},
        {0},
    };
    const struct gw_listing_command listing = {
        .command = "queue list",
        .summary =
            "List the queues of this cluster: TIME is the time limit of a task that asks for\n"
            "none, MAX TIME the longest. `submit --queue QUEUE` submits a job to one.",
        .query = "queues",
        .columns = columns,
        .none = "this cluster has no queues",
    };
    return gw_listing_run(&listing, argc, argv);
}

int gw_cli_queue(int argc, char **argv)
{
    static const struct gw_cli_command verbs[] = {{"list", "list the queues", run_queues},
                                                  {NULL, NULL, NULL}};
    return gw_cli_run_verb("queue", verbs, argc, argv);
}
