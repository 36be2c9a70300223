/* `gangway rm` removes ended jobs: their records, and their output on all hosts. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"
#include "client/cli/lib/table.h"

#include <inttypes.h>
#include <string.h>

/* Refuses a trial of a sweep, which could not be shown or continued without it. */
static int check_trial(struct gw_client *client, uint64_t job, struct gw_error *error)
{
    char number[24];
    struct gw_value *rows = NULL;
    (void)snprintf(number, sizeof number, "%" PRIu64, job);
    struct gw_value *arguments = gw_selector_arguments(number, NULL);
    int rc = arguments ? gw_client_query(client, "jobs", arguments, &rows, error)
                       : gw_error_set(error, GW_ENOMEM, "out of memory");
    const struct gw_value *annotations = gw_value_find(gw_value_at(rows, 0), "annotations");
    const char *name = gw_table_text(annotations, "sweep");
    if (rc == 0 && *gw_table_text(annotations, "sweep.start"))
        rc = gw_error_set(error, GW_EINVAL,
                          "job %" PRIu64 " is a trial of the sweep %s: `gangway sweep rm %s` "
                          "removes the sweep with all its trials",
                          job, name, name);
    gw_value_unref(arguments);
    gw_value_unref(rows);
    return rc;
}

static int remove_job(struct gw_client *client, const struct gw_selected *job, void *arg)
{
    struct gw_error error;
    const bool *all = arg;
    int rc = *all ? 0 : check_trial(client, job->job, &error);
    if (rc == 0)
        rc = gw_job_remove(client, job->job, &error);
    if (rc < 0)
        return gw_cli_error(&error);
    fprintf(stderr, "job %llu: removed\n", (unsigned long long)job->job);
    return GW_EXIT_OK;
}

int gw_cli_rm(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    bool all = false; /* whole sweeps too */
    for (int i = 1; i < argc; i++)
        all |= strcmp(argv[i], "all") == 0;
    const struct gw_selector_command command = {
        .options =
            {.command = "rm",
             .summary = "Remove ended jobs: their records and their output.",
             .details =
                 "JOB is a number, a list like 1,3,5-8, a name (the latest job of this name),\n"
                 "last, or all (ended jobs, or those in the given state). A job that has not\n"
                 "ended, or whose results are still in use, is refused, and a trial of a sweep\n"
                 "too: `gangway sweep rm` removes sweeps.",
             .table = table},
        .state = "ended",
        .at_once = true,
        .each = remove_job,
        .arg = &all,
    };
    return gw_selector_run(&command, argc, argv);
}
