/* `gangway get`: fetches files of a task. */
#include "client/cli/commands/commands.h"

#include "client/cli/launch/fetch.h"
#include "client/cli/lib/options.h"

int gw_cli_get(int argc, char **argv)
{
    const char *into = ".";
    bool checkpoint = false;
    struct gw_console_options console = {.in = -1, .signals = true, .left = true};
    const struct gw_option table[] = {
        {"output", 'o', GW_OPTION_TEXT, &into, "DIR",
         "folder for the files; made if it does not exist\n"
         "(default: the current folder)"},
        {"checkpoint", 0, GW_OPTION_FLAG, &checkpoint, NULL,
         "fetch the checkpoint: the files in\n"
         "GANGWAY_CHECKPOINT_DIR on all hosts, or only each\n"
         "PATH in it"},
        {"rank", 'r', GW_OPTION_U32, &console.rank, "R", "use this rank of a gang (default: 0)"},
        {0},
    };
    const struct gw_options options = {
        .command = "get",
        .arguments = "JOB[/TASK] [PATH...]",
        .summary = "Fetch files or folders of a task from its host, also after the task has ended.",
        .details =
            "PATH is relative to the task's working folder. After a command with --ship has\n"
            "ended, its worker keeps the folder of the command for detached jobs, the newest\n"
            "up to the size of `gangway up --keep-files`. Without --checkpoint, give at\n"
            "least one PATH.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1 << 20,
    };
    struct gw_cli_verb verb;
    struct gw_error error = {0};
    gw_cli_console_block(true);
    if (!gw_cli_begin(&options, argc, argv, &verb))
        return verb.exit_code;
    console.client = verb.client;
    console.checkpoint = checkpoint;
    char **paths = argv + verb.first + 1;
    if (!checkpoint && !*paths) {
        gw_cli_message("gangway get: type the PATH of a file of job %s, or --checkpoint; `gangway "
                       "jobs` lists jobs, `gangway tasks JOB` tasks, `gangway worker list` workers",
                       argv[verb.first]);
        (void)gw_cli_end(&verb, 0, &error);
        return GW_EXIT_USAGE;
    }
    int rc = gw_selector_task_check(argv[verb.first], &error);
    if (rc == 0)
        rc = gw_selector_task(verb.client, argv[verb.first], &console.task, &error);
    if (rc == 0 && checkpoint && !*paths)
        rc = gw_fetch_checkpoint(verb.client, &console.task, UINT32_MAX, into, &error);
    else if (rc == 0)
        rc = gw_fetch_files(&console, paths, into, &error);
    return gw_cli_end(&verb, rc, &error);
}
