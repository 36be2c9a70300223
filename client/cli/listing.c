/* Listings. */
#include "client/cli/listing.h"

#include "client/cli/cli.h"
#include "client/cli/options.h"

int gw_listing_run(const struct gw_listing *listing, int argc, char **argv)
{
    bool json = false;
    int first, exit_code;
    const struct gw_option table[] = {
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = listing->command,
        .arguments = "",
        .summary = listing->summary,
        .table = table,
    };
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;

    struct gw_client *client;
    struct gw_value *answer;
    struct gw_error error;
    exit_code = gw_cli_open(&client);
    if (exit_code)
        return exit_code;
    int rc = gw_client_query(client, listing->query, NULL, &answer, &error);
    gw_client_close(client);
    if (rc < 0)
        return gw_cli_error(&error);
    if (json)
        gw_table_json(stdout, answer, false);
    else if (listing->single)
        gw_table_print_dict(stdout, listing->columns, answer);
    else if (gw_value_count(answer) == 0)
        fprintf(stderr, "%s\n", listing->none);
    else
        gw_table_print(stdout, listing->columns, answer);
    gw_value_unref(answer);
    return GW_EXIT_OK;
}
