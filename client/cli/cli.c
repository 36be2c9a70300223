/* What all subcommands share. */
#include "client/cli/cli.h"

int gw_cli_error(const struct gw_error *error)
{
    fprintf(stderr, "gangway: %s\n", *error->text ? error->text : gw_error_text(error->code));
    return gw_error_exit_code(error);
}

int gw_cli_open(struct gw_client **client)
{
    struct gw_error error;
    const struct gw_client_options options = {.name = "gangway", .must_exist = true};
    return gw_client_open(&options, client, &error) < 0 ? gw_cli_error(&error) : GW_EXIT_OK;
}

void gw_cli_print_failure(uint64_t job, const struct gw_error *error)
{
    if (error->code == GW_ECANCELLED)
        fprintf(stderr, "gangway: job %llu: %s\n", (unsigned long long)job, error->text);
    else
        fprintf(stderr, "gangway: %s\n", error->text);
}
