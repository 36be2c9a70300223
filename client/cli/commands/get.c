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
         "where to put them; is made where it is not\nthere (default: here)"},
        {"checkpoint", 0, GW_OPTION_FLAG, &checkpoint, NULL,
         "what it saved in GANGWAY_CHECKPOINT_DIR, on\nall hosts; or, of that, each PATH"},
        {"rank", 'r', GW_OPTION_U32, &console.rank, "R", "of this rank of a gang (default: 0)"},
        {0},
    };
    const struct gw_options options = {
        .command = "get",
        .arguments = "JOB[/TASK] [PATH...]",
        .summary = "Fetch files or folders that a task has, or has left, on its host.",
        .details =
            "PATH is seen from the task's working folder. What a command left in the\n"
            "folder of its own that --ship gave it stays with its worker: the newest of\n"
            "detached jobs, as much as `gangway up --keep-files` says. Without --checkpoint a\n"
            "PATH is wanted.",
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
        gw_cli_message("gangway get: say what to fetch of %s: a PATH, or --checkpoint",
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
