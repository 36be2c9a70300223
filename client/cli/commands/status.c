/* `gangway status`: shows the resources and the work of the cluster. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/listing.h"

int gw_cli_status(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"version", "Version", GW_CELL_TEXT},
        {"uptime_ns", "Up for", GW_CELL_DURATION},
        {"state_dir", "Folder", GW_CELL_TEXT},
        {"address", "Others reach it at", GW_CELL_TEXT},
        {"workers", "Workers", GW_CELL_TEXT},
        {"sessions", "Clients", GW_CELL_TEXT},
        {"slots", "Slots", GW_CELL_TEXT},
        {"slots_free", "Free slots", GW_CELL_TEXT},
        {"gpus", "GPUs", GW_CELL_TEXT},
        {"gpus_free", "Free GPUs", GW_CELL_TEXT},
        {"gpus_drained", "Drained GPUs", GW_CELL_TEXT},
        {"gpus_memory_bytes", "GPU memory", GW_CELL_SIZE},
        {"gpus_used_bytes", "GPU memory used", GW_CELL_SIZE},
        {"gpus_busy_percent", "GPUs busy (%)", GW_CELL_TEXT},
        {"gpus_power", "GPU power", GW_CELL_TEXT},
        {"memory_bytes", "Memory", GW_CELL_SIZE},
        {"memory_used", "Memory used", GW_CELL_SIZE},
        {"idle_bytes", "Of it for reuse", GW_CELL_SIZE},
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
    static const struct gw_column gpu_columns[] = {
        {"job", "JOB", GW_CELL_NUMBER},         {"task", "TASK", GW_CELL_NUMBER},
        {"rank", "RANK", GW_CELL_NUMBER},       {"worker", "WORKER", GW_CELL_TEXT},
        {"gpus", "GPUS", GW_CELL_TEXT},         {"memory_bytes", "MEMORY", GW_CELL_SIZE},
        {"used_bytes", "USED", GW_CELL_SIZE},   {"busy_percent", "BUSY%", GW_CELL_NUMBER},
        {"power", "POWER", GW_CELL_MINOR_TEXT}, {0},
    };
    const struct gw_listing listing = {
        .command = "status",
        .summary = "Show the resources and the work of the running cluster, and the GPU usage of\n"
                   "each task and rank.",
        .query = "status",
        .columns = columns,
        .single = true,
        .below = "gpu_use",
        .below_columns = gpu_columns,
    };
    return gw_listing_run(&listing, argc, argv);
}
