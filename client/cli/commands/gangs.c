/* What can be asked of jobs that run: `gangway restart`, `pause`, `resume`, `stop`. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"

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
        .options = options, .unfinished = true, .at_once = true, .each = ask_job, .arg = &asking};
    return gw_selector_run(&command, argc, argv);
}

int gw_cli_restart(int argc, char **argv)
{
    return run((struct gw_options){.command = "restart",
                                   .summary = "End the gangs of jobs, gently, and have them start "
                                              "again.",
                                   .details =
                                       "Their ranks get SIGTERM, and SIGKILL after their "
                                       "grace; the next attempt goes on\nfrom the last "
                                       "checkpoint. Charged to --max-preemptions: where that is\n"
                                       "used up it is refused."},
               (struct asking){gw_job_restart, "restarting"}, argc, argv);
}

static int pause_job(struct gw_client *client, const struct gw_selected *job, void *arg)
{
    const bool *now = arg;
    struct gw_error error;
    if (gw_job_pause(client, job->job, *now, &error) < 0)
        return gw_cli_error(&error);
    gw_cli_message("job %llu: pausing (`gangway resume %llu` lets it go on)",
                   (unsigned long long)job->job, (unsigned long long)job->job);
    return GW_EXIT_OK;
}

int gw_cli_pause(int argc, char **argv)
{
    bool now = false;
    const struct gw_option table[] = {
        {"now", 0, GW_OPTION_FLAG, &now, NULL,
         "end gangs of functions too, and do not wait for\ntheir next step"},
        {0},
    };
    const struct gw_selector_command command = {
        .options = {.command = "pause",
                    .summary = "Have nothing of jobs start until they are resumed.",
                    .details = "Tasks that run go on to their end. A gang of functions saves and "
                               "returns at\nits next step; a gang of commands gets SIGTERM (or its "
                               "--signal), and SIGKILL\nafter its grace. Both go on from their "
                               "checkpoint when they are resumed. Nothing\nis charged.",
                    .table = table},
        .unfinished = true,
        .at_once = true,
        .each = pause_job,
        .arg = &now};
    return gw_selector_run(&command, argc, argv);
}

int gw_cli_resume(int argc, char **argv)
{
    return run((struct gw_options){.command = "resume", .summary = "Let paused jobs go on."},
               (struct asking){gw_job_resume, "resumed"}, argc, argv);
}

int gw_cli_stop(int argc, char **argv)
{
    return run((struct gw_options){.command = "stop",
                                   .summary = "Ask the gangs of jobs to end well, with what they "
                                              "have.",
                                   .details =
                                       "A gang of functions returns at its next step, and that "
                                       "is its result. A gang of\ncommands gets SIGTERM (or its "
                                       "--signal) and ends as it likes: its job is done\nwhere "
                                       "that is with 0, else failed, with its exit code (143: "
                                       "SIGTERM was not\ncaught). None starts again. To end them "
                                       "whatever they do: gangway cancel."},
               (struct asking){gw_job_stop, "asked to stop"}, argc, argv);
}
