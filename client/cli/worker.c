/* `gangway worker list`: a line a worker; `gangway worker gpus`: a line a GPU. With --dir it is the
 * worker daemon itself, which schedulers start. */
#include "worker/net/worker.h"
#include "client/address.h"
#include "client/cli/background.h"
#include "client/cli/cli.h"
#include "client/cli/listing.h"
#include "client/cli/options.h"

#include "graph/base/dir.h"

#include <stdlib.h>
#include <string.h>

/* The daemon for a scheduler on another host, in a folder of this user's that is named by it; in
 * the background where that is asked for first. */
static int run_connected(int argc, char **argv)
{
    char dir[PATH_MAX], option[] = "--dir";
    const char *connect = NULL;
    bool background = argc > 1 && strcmp(argv[1], "--background") == 0;
    struct gw_error error;
    if (background) {
        argv[1] = argv[0];
        argv++;
        argc--;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--dir") == 0 || strncmp(argv[i], "--dir=", 6) == 0)
            return gw_worker_main(argc, argv);
        if (strcmp(argv[i], "--connect") == 0)
            connect = argv[i + 1];
        else if (strncmp(argv[i], "--connect=", 10) == 0)
            connect = argv[i] + 10;
    }
    if (!connect) {
        fprintf(stderr, "gangway worker: --connect HOST:PORT is missing; `gangway worker list` "
                        "lists workers\n");
        return GW_EXIT_USAGE;
    }
    int rc = gw_address_runtime_dir(dir, &error);
    if (rc < 0)
        return gw_cli_error(&error);
    size_t length = strlen(dir);
    (void)snprintf(dir + length, sizeof dir - length, "/at-%.100s", connect);
    for (char *c = dir + length + 1; *c; c++)
        if (!strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-", *c))
            *c = '_';
    rc = gw_dir_make(dir, &error);
    if (rc < 0)
        return gw_cli_error(&error);
    char **all = calloc((size_t)argc + 3, sizeof *all);
    if (!all)
        return GW_EXIT_FAILED;
    all[0] = argv[0];
    all[1] = option;
    all[2] = dir;
    memcpy(all + 3, argv + 1, (size_t)(argc - 1) * sizeof *all);
    int exit_code =
        background ? gw_background_run(argc + 2, all, dir) : gw_worker_main(argc + 2, all);
    free(all);
    return exit_code;
}

int gw_cli_worker(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"id", "WORKER", GW_CELL_NUMBER},
        {"name", "NAME", GW_CELL_TEXT},
        {"host", "HOST", GW_CELL_TEXT},
        {"address", "FROM", GW_CELL_TEXT},
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
    static const struct gw_column gpu_columns[] = {
        {"worker", "WORKER", GW_CELL_NUMBER},
        {"host", "HOST", GW_CELL_MINOR_TEXT},
        {"number", "GPU", GW_CELL_NUMBER},
        {"name", "NAME", GW_CELL_TEXT},
        {"uuid", "UUID", GW_CELL_MINOR_TEXT},
        {"memory_bytes", "MEMORY", GW_CELL_SIZE},
        {"used_bytes", "USED", GW_CELL_SIZE},
        {"power", "POWER", GW_CELL_TEXT},
        {"busy_percent", "BUSY%", GW_CELL_NUMBER},
        {"island", "ISLAND", GW_CELL_MINOR_NUMBER},
        {"state", "STATE", GW_CELL_TEXT},
        {"by", "BY, OR WHY", GW_CELL_TEXT},
        {0},
    };
    const struct gw_listing gpus = {
        .command = "worker gpus",
        .summary = "List the GPUs of this cluster's workers: how they do, and which tasks have "
                   "them.\nThose of one ISLAND are linked by NVLink.",
        .query = "gpus",
        .columns = gpu_columns,
        .none = "no worker has a GPU",
    };
    if (argc > 1 && strcmp(argv[1], "--dir") == 0)
        return gw_worker_main(argc, argv);
    if (argc > 1 && strncmp(argv[1], "--", 2) == 0 && strcmp(argv[1], "--help") != 0)
        return run_connected(argc, argv);
    if (argc > 1 && strcmp(argv[1], "list") == 0)
        return gw_listing_run(&listing, argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "gpus") == 0)
        return gw_listing_run(&gpus, argc - 1, argv + 1);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return gw_listing_run(&listing, argc, argv);
    fprintf(stderr,
            "gangway worker: %s; there is `gangway worker list` and `gangway worker "
            "gpus`\n",
            argc > 1 ? "unknown command" : "a command is missing");
    return GW_EXIT_USAGE;
}
