/* `gangway status`: what the cluster has and does. */
#include "client/cli/cli.h"
#include "client/cli/listing.h"

int gw_cli_status(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"version", "Version", GW_CELL_TEXT},
        {"uptime_ns", "Up for", GW_CELL_DURATION},
        {"state_dir", "Folder", GW_CELL_TEXT},
        {"workers", "Workers", GW_CELL_TEXT},
        {"sessions", "Clients", GW_CELL_TEXT},
        {"slots", "Slots", GW_CELL_TEXT},
        {"slots_free", "Free slots", GW_CELL_TEXT},
        {"gpus", "GPUs", GW_CELL_TEXT},
        {"gpus_free", "Free GPUs", GW_CELL_TEXT},
        {"gpus_drained", "Drained GPUs", GW_CELL_TEXT},
        {"memory_bytes", "Memory", GW_CELL_SIZE},
        {"memory_used", "Memory used", GW_CELL_SIZE},
        {"spilled_bytes", "Results on disk", GW_CELL_SIZE},
        {"scattered.values", "Values scattered", GW_CELL_TEXT},
        {"scattered.bytes", "Their memory", GW_CELL_SIZE},
        {"memory_trouble", "No disk for results", GW_CELL_TEXT},
        {"jobs.running", "Jobs unfinished", GW_CELL_TEXT},
        {"jobs.ended", "Jobs ended", GW_CELL_TEXT},
        {"tasks.waiting", "Tasks waiting", GW_CELL_TEXT},
        {"tasks.running", "Tasks running", GW_CELL_TEXT},
        {"tasks.done", "Tasks done", GW_CELL_TEXT},
        {"tasks.failed", "Tasks failed", GW_CELL_TEXT},
        {"tasks.cancelled", "Tasks cancelled", GW_CELL_TEXT},
        {0},
    };
    const struct gw_listing listing = {
        .command = "status",
        .summary = "Show what the running cluster has and does.",
        .query = "status",
        .columns = columns,
        .single = true,
    };
    return gw_listing_run(&listing, argc, argv);
}
