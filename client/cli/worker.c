/* `gangway worker list`: a line a worker. With --dir it is the worker daemon itself, which
 * schedulers start. */
#include "worker/net/worker.h"
#include "client/cli/cli.h"
#include "client/cli/listing.h"
#include "client/cli/options.h"

#include <string.h>

int gw_cli_worker(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"id", "WORKER", GW_CELL_NUMBER},
        {"name", "NAME", GW_CELL_TEXT},
        {"host", "HOST", GW_CELL_TEXT},
        {"state", "STATE", GW_CELL_TEXT},
        {"slots", "SLOTS", GW_CELL_NUMBER},
        {"slots_free", "FREE", GW_CELL_NUMBER},
        {"gpus", "GPUS", GW_CELL_COUNT},
        {"running", "RUNNING", GW_CELL_NUMBER},
        {"memory_bytes", "MEMORY", GW_CELL_SIZE},
        {"memory_used", "USED", GW_CELL_SIZE},
        {"memory_state", "TAKES", GW_CELL_TEXT},
        {"held_bytes", "RESULTS", GW_CELL_SIZE},
        {"spilled_bytes", "ON DISK", GW_CELL_SIZE},
        {0},
    };
    const struct gw_listing listing = {
        .command = "worker list",
        .summary = "List this cluster's workers.",
        .query = "workers",
        .columns = columns,
        .none = "no workers",
    };
    if (argc > 1 && strcmp(argv[1], "--dir") == 0)
        return gw_worker_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "list") == 0)
        return gw_listing_run(&listing, argc - 1, argv + 1);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return gw_listing_run(&listing, argc, argv);
    fprintf(stderr, "gangway worker: %s; there is `gangway worker list`\n",
            argc > 1 ? "unknown command" : "a command is missing");
    return GW_EXIT_USAGE;
}
