/* `gangway down` ends this user's cluster. Without one there is nothing to do, which is what was
 * wanted: exit code 0. */
#include "client/cli/cli.h"
#include "client/cli/options.h"

int gw_cli_down(int argc, char **argv)
{
    int first, exit_code;
    bool json = false;
    const struct gw_option table[] = {
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "down",
        .arguments = "",
        .summary = "End the running cluster: its jobs are cancelled. Waits until all of it is "
                   "gone.\nWhen none is running it says so, and exits with 0.",
        .table = table,
    };
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;

    struct gw_client *client;
    struct gw_error error;
    const struct gw_client_options open = {.name = "gangway down", .must_exist = true};
    int rc = gw_client_open(&open, &client, &error);
    bool running = rc != GW_ENOSCHEDULER;
    if (rc == 0) {
        rc = gw_client_shutdown(client, &error);
        gw_client_close(client);
    }
    if (rc < 0 && running)
        return gw_cli_error(&error);
    if (json)
        printf("{\"was_running\": %s}\n", running ? "true" : "false");
    else
        fprintf(stderr, running ? "the cluster has ended\n" : "no cluster is running\n");
    return GW_EXIT_OK;
}
