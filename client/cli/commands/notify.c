/* `gangway notify JOB COMMAND`, which the job of --notify runs on a worker: it finds out how the
 * job has ended, and becomes the command. */
#include "client/cli/commands/commands.h"

#include "client/cli/launch/notify.h"
#include "client/cli/lib/cli.h"

#include <gangway/gangway.h>
#include <stdlib.h>
#include <unistd.h>

int gw_cli_notify(int argc, char **argv)
{
    const struct gw_client_options options =
        GW_INIT(gw_client_options, .name = "gangway notify", .must_exist = true);
    struct gw_client *client = NULL;
    struct gw_error error;
    if (argc != 3) {
        gw_cli_message("gangway notify: the job of `gangway submit --notify` runs this");
        return GW_EXIT_USAGE;
    }
    (void)gw_client_open(&options, &client, &error);
    gw_notify_set(client, strtoull(argv[1], NULL, 10), &error);
    gw_client_close(client);
    (void)execl("/bin/sh", "sh", "-c", argv[2], (char *)NULL);
    gw_cli_message("gangway notify: cannot start /bin/sh");
    return GW_EXIT_FAILED;
}
