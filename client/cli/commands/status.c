/* `gangway status`: shows the resources and the work of the cluster. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/listing.h"

int gw_cli_status(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"version", "Version", GW_CELL_TEXT},
        {"uptime_ns", "Running for", GW_CELL_DURATION},
        {"state_dir", "State folder", GW_CELL_TEXT},
        {"address", "Address for other hosts", GW_CELL_TEXT},
        {"workers", "Workers", GW_CELL_TEXT},
        {"workers_drained", "Drained workers", GW_CELL_TEXT},
        {"sessions", "Connected clients", GW_CELL_TEXT},
        {"slots", "Slots", GW_CELL_TEXT},
        {"slots_free", "Free slots", GW_CELL_TEXT},
        {"gpus", "GPUs", GW_CELL_TEXT},
        {"gpus_free", "Free GPUs", GW_CELL_TEXT},
        {"gpus_drained", "Drained GPUs", GW_CELL_TEXT},
        {"gpus_memory_bytes", "GPU memory", GW_CELL_SIZE},
        {"gpus_used_bytes", "Used GPU memory", GW_CELL_SIZE},
        {"gpus_busy_percent", "GPU utilization (%)", GW_CELL_TEXT},
        {"gpus_power", "GPU power", GW_CELL_TEXT},
        {"memory_bytes", "Memory", GW_CELL_SIZE},
        {"memory_used", "Used memory", GW_CELL_SIZE},
        {"idle_bytes", "Memory free for reuse", GW_CELL_SIZE},
        {"spilled_bytes", "Results moved to disk", GW_CELL_SIZE},
        {"scattered.values", "Scattered values", GW_CELL_TEXT},
        {"scattered.bytes", "Memory of scattered values", GW_CELL_SIZE},
        {"memory_trouble", "Cannot move results to disk", GW_CELL_TEXT},
        {"clock_trouble", "Wrong clock of the scheduler", GW_CELL_TEXT},
        {"jobs.running", "Unfinished jobs", GW_CELL_TEXT},
        {"jobs.ended", "Ended jobs", GW_CELL_TEXT},
        {"tasks.waiting", "Waiting tasks", GW_CELL_TEXT},
        {"tasks.running", "Running tasks", GW_CELL_TEXT},
        {"tasks.done", "Successful tasks", GW_CELL_TEXT},
        {"tasks.failed", "Failed tasks", GW_CELL_TEXT},
        {"tasks.cancelled", "Cancelled tasks", GW_CELL_TEXT},
        {0},
    };
    static const struct gw_column gpu_columns[] = {
        {"job", "JOB", GW_CELL_NUMBER},         {"task", "TASK", GW_CELL_NUMBER},
        {"rank", "RANK", GW_CELL_NUMBER},       {"worker", "WORKER", GW_CELL_TEXT},
        {"gpus", "GPUS", GW_CELL_TEXT},         {"memory_bytes", "MEMORY", GW_CELL_SIZE},
        {"used_bytes", "USED", GW_CELL_SIZE},   {"busy_percent", "BUSY%", GW_CELL_NUMBER},
        {"power", "POWER", GW_CELL_MINOR_TEXT}, {0},
    };
    const struct gw_listing_command listing = {
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
