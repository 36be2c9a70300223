/* `gangway exec`: runs a command beside a running task, in the task's environment and folder. */
#include "client/cli/commands/commands.h"

#include "client/cli/launch/console.h"
#include "client/cli/launch/wrap.h"
#include "client/cli/lib/synonym.h"

#include <unistd.h>

int gw_cli_exec(int argc, char **argv)
{
    bool host = false;
    struct gw_console_options console = {.in = STDIN_FILENO, .out = STDOUT_FILENO, .signals = true};
    const struct gw_option table[] = {
        {"rank", 'r', GW_OPTION_U32, &console.rank, "R",
         "run beside this rank of a gang (default: 0)"},
        {"pty", 't', GW_OPTION_FLAG, &console.terminal, NULL,
         "give the command a terminal, for a shell or a\n"
         "debugger"},
        {"wait", 0, GW_OPTION_FLAG, &console.wait, NULL, "wait until the task runs"},
        {"host", 0, GW_OPTION_FLAG, &host, NULL,
         "if the task has a --container: run outside the\n"
         "container, on its host"},
        {0},
    };
    const struct gw_options options = {
        .command = "exec",
        .arguments = "JOB[/TASK] -- COMMAND [ARGUMENT...]",
        .summary = "Run a command beside a running task: on its host, in its folder, with its\n"
                   "environment.",
        .details =
            "{pid} in COMMAND and ARGUMENTs is the rank's process, {rank} its number:\n"
            "  gangway exec 7 --rank 3 --pty -- gdb -p {pid}\n"
            "The command is ended when the task ends. The exit code is that of the command,\n"
            "or 127 if it is not found. If the task has a container, the command runs in it\n"
            "(docker exec, podman exec, or nsenter for apptainer). {pid} is a process id on\n"
            "the host, so use it with --host then.",
        .table = table,
        .arguments_min = 2,
        .arguments_max = 1 << 20,
        .synonyms = gw_synonym_exec,
    };
    struct gw_cli_verb verb;
    struct gw_wrap wrap = {0};
    struct gw_error error;
    gw_cli_console_block(true);
    if (!gw_cli_begin(&options, argc, argv, &verb))
        return verb.exit_code;
    console.client = verb.client;
    console.argv = (const char *const *)argv + verb.first + 1;
    if (!host && gw_wrap_beside(&wrap, console.argv, console.terminal) < 0) {
        gw_client_close(verb.client);
        fprintf(stderr, "gangway: out of memory\n");
        return GW_EXIT_FAILED;
    }
    if (!host)
        console.argv = wrap.argv;
    int exit_code = 0, rc = gw_selector_task_check(argv[verb.first], &error);
    if (rc == 0)
        rc = gw_selector_task(verb.client, argv[verb.first], &console.task, &error);
    if (rc == 0)
        rc = gw_cli_console_run(&console, &exit_code, &error);
    if (rc < 0)
        exit_code = gw_cli_error(&error);
    gw_client_close(verb.client);
    gw_wrap_deinit(&wrap);
    return exit_code;
}
