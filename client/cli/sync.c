/* `gangway sync`: what clients and tasks coordinate by, and a way out where one is stuck. */
#include "client/cli/cli.h"
#include "client/cli/listing.h"
#include "client/cli/options.h"

static int run_list(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"kind", "KIND", GW_CELL_TEXT},      {"name", "NAME", GW_CELL_TEXT},
        {"state", "STATE", GW_CELL_TEXT},    {"bytes", "SIZE", GW_CELL_SIZE},
        {"waiting", "WAIT", GW_CELL_NUMBER}, {"fence", "FENCE", GW_CELL_NUMBER},
        {"holder", "HELD BY", GW_CELL_TEXT}, {0},
    };
    const struct gw_listing listing = {
        .command = "sync list",
        .summary = "List semaphores, locks, events, variables and queues.",
        .query = "sync",
        .columns = columns,
        .none = "nothing to coordinate by",
    };
    return gw_listing_run(&listing, argc, argv);
}

static int run_delete(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_options options = {
        .command = "sync delete",
        .arguments = "KIND NAME",
        .summary = "Delete a semaphore, lock, event, variable or queue, with all it holds.",
        .details = "Who waits for it gets an error that says so; leases of it are void.",
        .table = table,
        .arguments_min = 2,
        .arguments_max = 2,
    };
    struct gw_cli_verb verb;
    struct gw_error error;
    if (!gw_cli_begin(&options, argc, argv, &verb))
        return verb.exit_code;
    if (gw_sync_delete(verb.client, argv[verb.first], argv[verb.first + 1], &error) < 0)
        verb.exit_code = gw_cli_error(&error);
    gw_client_close(verb.client);
    return verb.exit_code;
}

int gw_cli_sync(int argc, char **argv)
{
    static const struct gw_cli_command verbs[] = {
        {"list", "what there is, who holds it, how many wait", run_list},
        {"delete", "delete one that is stuck", run_delete},
        {NULL, NULL, NULL},
    };
    return gw_cli_run_verb("sync", verbs, argc, argv);
}
