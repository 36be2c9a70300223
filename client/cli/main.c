/* main of the `gangway` binary: the table of subcommands, and the code that finds and runs a
 * subcommand. */
#include "client/cli/commands/commands.h"
#include "client/cli/commands/manual.h"
#include "client/cli/lib/options.h"
#include "client/cli/lib/synonym.h"
#include "client/cli/lib/units.h"
#include "worker/companion/companion.h"
#include "worker/net/worker.h"
#include "worker/store/files_agent.h"
#include "worker/supervisor/supervisor.h"

#include <string.h>

static int print_version(int argc, char **argv);
static int help(int argc, char **argv);

static const struct gw_cli_command commands[] = {
    {"up", "start a cluster on this machine", gw_cli_up},
    {"down", "end the cluster", gw_cli_down},
    {"status", "show the resources and work of the cluster", gw_cli_status},
    {"top", "show the cluster and its jobs live", gw_cli_top},
    {"submit", "run a command as a task", gw_cli_submit},
    {"dispatch", "run a command as a gang of ranks", gw_cli_dispatch},
    {"sweep", "search the parameters of a command: run, list, show, ...", gw_cli_sweep},
    {"jobs", "list jobs", gw_cli_jobs},
    {"usage", "show what users have used", gw_cli_usage},
    {"tasks", "list a job's tasks", gw_cli_tasks},
    {"logs", "print a job's output", gw_cli_logs},
    {"metrics", "list or follow what a job's tasks report", gw_cli_metrics},
    {"wait", "wait for jobs to end", gw_cli_wait},
    {"cancel", "cancel jobs or a task", gw_cli_cancel},
    {"rm", "remove ended jobs and their output", gw_cli_rm},
    {"retry", "run the failed tasks of jobs again", gw_cli_retry},
    {"restart", "end gangs and start them again from their checkpoints", gw_cli_restart},
    {"pause", "pause jobs: no task of them starts", gw_cli_pause},
    {"resume", "continue paused jobs", gw_cli_resume},
    {"stop", "ask gangs to end successfully", gw_cli_stop},
    {"explain", "explain why a job waits, or what it does", gw_cli_explain},
    {"events", "show the event log of a task or job", gw_cli_events},
    {"graph", "show a job's graph, or print it for Graphviz", gw_cli_graph},
    {"exec", "run a command beside a running task", gw_cli_exec},
    {"get", "fetch files of a task", gw_cli_get},
    {"report", "inside of a task: report the metrics of a step", gw_cli_report},
    {"forward", "forward a local port to a port of a task", gw_cli_forward},
    {"account", "accounts, their shares and usage: list", gw_cli_account},
    {"queue", "queues that jobs are submitted to: list", gw_cli_queue},
    {"actor", "actors: list, rm", gw_cli_actor},
    {"data", "results under names: list, get, publish, rm, where", gw_cli_data},
    {"sync", "semaphores, locks, events, variables, queues: list, rm", gw_cli_sync},
    {"worker", "workers: list, drain, undrain; or run a worker", gw_cli_worker},
    {"gpu", "GPUs: list, drain, undrain", gw_cli_gpu},
    {"scheduler", "run a scheduler in the foreground", gw_cli_scheduler},
    {"config", "check, show or reload a configuration file", gw_cli_config},
    {"token", "who may use a cluster over TCP: create, list, revoke, store", gw_cli_token},
    {"bench", "measure a private cluster", gw_cli_bench},
    {"new", "write a small project", gw_cli_new},
    {"completion", "print a script for completion in a shell", gw_cli_completion},
    {"version", "print the version", print_version},
    {"help", "show this help, or the help of a command", help},
    {"notify", NULL, gw_cli_notify},
    {"supervisor", NULL, gw_supervisor_main},
    {"companion", NULL, gw_companion_main},
    {"files", NULL, gw_files_agent_main},
    {NULL, NULL, NULL},
};

static int print_version(int argc, char **argv)
{
    bool json = false;
    const struct gw_option table[] = {
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "version", .arguments = "", .summary = "Print the version.", .table = table};
    int first, exit_code;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    printf(json ? "{\"version\": \"%s\"}\n" : "gangway %s\n", gw_version());
    return GW_EXIT_OK;
}

static void print_commands(FILE *out)
{
    fprintf(out, "Usage: gangway COMMAND [options]\n\nCommands:\n");
    for (const struct gw_cli_command *command = commands; command->name; command++)
        if (command->summary)
            fprintf(out, "  %-10s %s\n", command->name, command->summary);
    fprintf(out, "\n`gangway COMMAND --help` shows the help of a command. Exit codes:\n");
    for (const struct gw_cli_exit_code *code = gw_cli_exit_codes; code->text; code++)
        fprintf(out, "%s%d %s", code->code ? ", " : "", code->code, code->text);
    fprintf(out, ".\ndispatch, submit, wait and exec exit with the exit code of the task.\n");
    fprintf(out, "\n%s", gw_units_help);
}

static const struct gw_cli_command *find_command(const char *name)
{
    for (const struct gw_cli_command *command = commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    const char *answer = gw_synonym_command(name);
    const char *nearest = answer ? NULL : gw_cli_nearest(name, commands);
    if (answer)
        gw_cli_message("gangway: unknown command '%s': %s", name, answer);
    else
        fprintf(stderr, "gangway: unknown %s '%s'%s%s%s\n", *name == '-' ? "option" : "command",
                name, nearest ? ", did you mean '" : "; `gangway help` lists them",
                nearest ? nearest : "", nearest ? "'?" : "");
    return NULL;
}

/* Whether the command has verbs. For other commands, a second word would be an argument. */
static bool has_verbs(const struct gw_cli_command *command)
{
    static const char *const names[] = {"account", "actor", "config", "data",  "gpu",
                                        "queue",   "sweep", "sync",   "token", "worker"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(command->name, names[i]) == 0)
            return true;
    return false;
}

static int help(int argc, char **argv)
{
    bool man = false;
    const struct gw_option table[] = {
        {"man", 0, GW_OPTION_FLAG, &man, NULL,
         "print the manual page, of COMMAND if given, for\n`man -l -`"},
        {0},
    };
    const struct gw_options options = {
        .command = "help",
        .arguments = "[COMMAND [VERB]]",
        .summary = "List the commands, or show the help of one.",
        .table = table,
        .arguments_max = 2,
    };
    int first, exit_code;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (!argv[first]) {
        if (man)
            gw_manual_print(commands);
        else
            print_commands(stdout);
        return GW_EXIT_OK;
    }
    const struct gw_cli_command *command = find_command(argv[first]);
    if (man && command && command->summary) {
        gw_manual_print_command(command);
        return GW_EXIT_OK;
    }
    if (command && argv[first + 1] && !has_verbs(command)) {
        gw_cli_message("gangway help: %s has no verbs: `gangway help %s` shows its help",
                       command->name, command->name);
        return GW_EXIT_USAGE;
    }
    char option[] = "--help";
    char *verb = argv[first + 1] ? argv[first + 1] : option;
    char *words[] = {argv[first], verb, verb == option ? NULL : option, NULL};
    return command ? command->run(verb == option ? 2 : 3, words) : GW_EXIT_USAGE;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_commands(stderr);
        return GW_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return help(1, argv + 1);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return print_version(1, argv + 1);
    const struct gw_cli_command *command = find_command(word);
    if (command)
        gw_cli_called(command->name);
    return command ? command->run(argc - 1, argv + 1) : GW_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    gw_init(&argc,
            &argv); /* makes this process a runner if it was started for the tasks of `bench` */
    int exit_code = run(argc, argv);
    /* Report lost output, for example if the disk is full. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && exit_code == GW_EXIT_OK) {
        fprintf(stderr, "gangway: cannot write the output\n");
        exit_code = GW_EXIT_FAILED;
    }
    return exit_code;
}
