/* Subcommands that print one query. */
#include "client/cli/lib/listing.h"

#include "client/cli/lib/cli.h"
#include "client/cli/lib/options.h"
#include "graph/base/must.h"

#include <stdio.h>

static void print_single(const struct gw_listing_command *listing, const struct gw_value *answer)
{
    const struct gw_value *below = listing->below ? gw_value_find(answer, listing->below) : NULL;
    gw_table_print_dict(stdout, listing->columns, answer);
    if (!below || gw_value_count(below) == 0)
        return;
    printf("\n");
    gw_table_print(stdout, listing->below_columns, below);
}

static void print(const struct gw_listing_command *listing, const struct gw_value *answer,
                  bool json, bool watch)
{
    if (json)
        gw_table_json(stdout, answer, watch);
    else if (listing->single)
        print_single(listing, answer);
    else if (gw_value_count(answer) == 0)
        fprintf(stderr, "%s\n", listing->none);
    else
        gw_table_print(stdout, listing->columns, answer);
    if (listing->remark && !json)
        listing->remark(answer);
}

/* Replaces a list by the list of the rows that the command lists. */
static void filter(const struct gw_listing_command *listing, struct gw_value **answer)
{
    if (!listing->lists)
        return;
    struct gw_value *rows = gw_list();
    GW_MUST_PTR(rows);
    for (size_t i = 0; i < gw_value_count(*answer); i++) {
        struct gw_value *row = gw_value_at(*answer, i);
        if (listing->lists(row))
            GW_MUST(gw_list_push(rows, gw_value_ref(row)));
    }
    gw_value_unref(*answer);
    *answer = rows;
}

int gw_listing_run(const struct gw_listing_command *listing, int argc, char **argv)
{
    bool json = false, watch = false;
    int first, exit_code;
    static struct gw_option no_options[] = {{0}};
    const struct gw_option table[] = {
        GW_OPTION_TABLE(listing->options ? listing->options : no_options),
        {"watch", 'w', GW_OPTION_FLAG, &watch, NULL, "repeat every 2 seconds, until Ctrl-C"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = listing->command,
        .arguments = "",
        .summary = listing->summary,
        .details = listing->details,
        .table = table,
    };
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;

    struct gw_client *client;
    struct gw_error error;
    int rc;
    exit_code = gw_cli_open(&client);
    if (exit_code)
        return exit_code;
    do {
        struct gw_value *answer;
        rc = gw_client_query(client, listing->query, NULL, &answer, &error);
        if (rc < 0)
            break;
        filter(listing, &answer);
        print(listing, answer, json, watch);
        gw_value_unref(answer);
    } while (watch && gw_table_again(stdout));
    gw_client_close(client);
    return rc < 0 ? gw_cli_error(&error) : GW_EXIT_OK;
}
