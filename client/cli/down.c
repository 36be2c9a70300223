/* `gangway down` ends this user's cluster. Without one there is nothing to do, which is what was
 * wanted: exit code 0. Workers that outlive a scheduler that was killed are of that cluster, too.
 */
#include "client/address.h"
#include "client/cli/cli.h"
#include "client/cli/options.h"
#include "client/cluster.h"
#include "graph/base/clock.h"
#include "scheduler/net/crew.h"

#include <signal.h>
#include <stdlib.h>

#define WORKER_END_NS (20 * GW_NS_PER_S)

/* Ends those, and gives their number. */
static uint32_t end_workers(void)
{
    char dir[PATH_MAX];
    uint32_t count = 0;
    const char *address = getenv("GANGWAY_ADDRESS");
    if ((address && *address) || gw_address_default_dir(dir, NULL) < 0)
        return 0;
    pid_t pids[GW_CREW_WORKERS_MAX];
    for (uint32_t i = 0; i < GW_CREW_WORKERS_MAX; i++) {
        pid_t pid = gw_crew_who_lives_on(dir, i);
        if (pid && kill(pid, SIGTERM) == 0)
            pids[count++] = pid;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!gw_cluster_wait_gone(pids[i], WORKER_END_NS))
            (void)kill(pids[i], SIGKILL); /* its guardian buries what it runs */
    return count;
}

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
        .summary = "End the running cluster. Its jobs are cancelled, but for detached ones, with\n"
                   "which the next `up` goes on. Waits until all of it is gone. When none is\n"
                   "running it says so, and exits with 0.",
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
    uint32_t left = running ? 0 : end_workers();
    if (json)
        printf("{\"was_running\": %s}\n", running ? "true" : "false");
    else if (left)
        fprintf(stderr, "no scheduler is running; %u worker%s that had outlived one ha%s ended\n",
                left, left == 1 ? "" : "s", left == 1 ? "s" : "ve");
    else
        fprintf(stderr, running ? "the cluster has ended\n" : "no cluster is running\n");
    return GW_EXIT_OK;
}
