/* What can be asked of gangs that run: `gangway restart`. */
#include "client/cli/cli.h"
#include "client/cli/selector.h"

struct asking {
    int (*ask)(struct gw_client *client, uint64_t job, struct gw_error *error);
    const char *done; /* what to print where it was done */
};

static int ask_job(struct gw_client *client, const struct gw_selected *job, void *arg)
{
    const struct asking *asking = arg;
    struct gw_error error;
    if (asking->ask(client, job->job, &error) < 0)
        return gw_cli_error(&error);
    fprintf(stderr, "job %llu: %s\n", (unsigned long long)job->job, asking->done);
    return GW_EXIT_OK;
}

static int run(struct gw_options options, struct asking asking, int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    options.table = table;
    const struct gw_selector_command command = {
        .options = options, .unfinished = true, .each = ask_job, .arg = &asking};
    return gw_selector_run(&command, argc, argv);
}

int gw_cli_restart(int argc, char **argv)
{
    return run((struct gw_options){.command = "restart",
                                   .summary = "End the gangs of jobs, gently, and have them start "
                                              "again.",
                                   .details = "Their ranks get SIGTERM, and SIGKILL after their "
                                              "grace; the next attempt goes on\nfrom the last "
                                              "checkpoint. Charged to --max-preemptions."},
               (struct asking){gw_job_restart, "restarting"}, argc, argv);
}
