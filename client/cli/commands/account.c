/* `gangway account`: lists the accounts of a cluster. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/listing.h"
#include "client/cli/lib/options.h"

static int run_accounts(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"tree", "ACCOUNT", GW_CELL_NAME},
        {"user", "USER", GW_CELL_TEXT},
        {"shares", "SHARES", GW_CELL_MINOR_NUMBER},
        {"shown.share", "SHARE", GW_CELL_TEXT},
        {"shown.used", "USED", GW_CELL_TEXT},
        {"usage_ns", "USAGE", GW_CELL_DURATION},
        {"rank", "PLACE", GW_CELL_NUMBER},
        {"shown.jobs", "JOBS", GW_CELL_MINOR_TEXT},
        {"shown.running", "RUNNING", GW_CELL_MINOR_TEXT},
        {"shown.slots", "SLOTS", GW_CELL_TEXT},
        {"shown.gpus", "GPUS", GW_CELL_TEXT},
        {0},
    };
    const struct gw_listing_command listing = {
        .command = "account list",
        .summary =
            "List the accounts of this cluster as a tree, with the users who have used it.\n"
            "SHARE is what an account or user is entitled to, USED what it has used of late:\n"
            "usage counts half after the half-life of the cluster. The work of the user with\n"
            "PLACE 1 starts first. SLOTS 3 of 8: in use, and the limit.",
        .query = "accounts",
        .columns = columns,
        .none = "this cluster has no accounts: all work is placed by priority and age",
    };
    return gw_listing_run(&listing, argc, argv);
}

int gw_cli_account(int argc, char **argv)
{
    static const struct gw_cli_command verbs[] = {
        {"list", "list the accounts, their shares and their usage", run_accounts},
        {NULL, NULL, NULL}};
    return gw_cli_run_verb("account", verbs, argc, argv);
}
