/* `gangway config`: checks and shows the configuration file of schedulers and workers. */
#include "client/cli/commands/commands.h"

#include "client/cli/hosts/worker_daemon.h"
#include "client/cli/lib/config_file.h"
#include "client/cli/lib/table.h"

#include <gangway/gangway.h>
#include <string.h>

/* Reads the file for each daemon. *rows is a list of dicts, which the caller owns, or NULL. */
static int read_file(const char *path, struct gw_value **rows)
{
    *rows = gw_list();
    int exit_code = gw_cli_scheduler_config(path, *rows);
    if (exit_code == GW_EXIT_OK)
        exit_code = gw_worker_daemon_config(path, *rows);
    return exit_code;
}

static int run_check(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_options options = {
        .command = "config check",
        .arguments = "[FILE]",
        .summary = "Check a configuration file, by default " GW_CONFIG_FILE_PATH ".",
        .details = "The first error is printed with its line, and the exit code is 2.",
        .table = table,
        .arguments_max = 1,
    };
    struct gw_value *rows;
    int first, exit_code;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    const char *path = argv[first] ? argv[first] : GW_CONFIG_FILE_PATH;
    exit_code = read_file(path, &rows);
    gw_value_unref(rows);
    if (exit_code == GW_EXIT_OK)
        printf("%s: no errors\n", path);
    return exit_code;
}

static int run_show(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"group", "GROUP", GW_CELL_TEXT},
        {"option", "OPTION", GW_CELL_TEXT},
        {"value", "VALUE", GW_CELL_TEXT},
        {"from", "FROM", GW_CELL_TEXT},
        {0},
    };
    bool json = false;
    const struct gw_option table[] = {
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "config show",
        .arguments = "[FILE]",
        .summary = "Show the options of daemons that read a configuration file, by "
                   "default\n" GW_CONFIG_FILE_PATH ": their values, and the line of each value.",
        .details = "`gangway scheduler --help` and `gangway worker --help` describe the options\n"
                   "and their defaults. An option on the command line of a daemon wins over the\n"
                   "file.",
        .table = table,
        .arguments_max = 1,
    };
    struct gw_value *rows;
    int first, exit_code;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    exit_code = read_file(argv[first] ? argv[first] : GW_CONFIG_FILE_PATH, &rows);
    if (exit_code == GW_EXIT_OK && json)
        gw_table_json(stdout, rows, false);
    else if (exit_code == GW_EXIT_OK)
        gw_table_print(stdout, columns, rows);
    gw_value_unref(rows);
    return exit_code;
}

/* Prints each name of a list with commas. */
static void print_restarts(const char *names)
{
    for (size_t length; *names; names += length + strspn(names + length, ", ")) {
        length = strcspn(names, ",");
        printf("%.*s: takes effect after a restart of the scheduler, which ends no task\n",
               (int)length, names);
    }
}

static int run_reload(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_options options = {
        .command = "config reload",
        .arguments = "",
        .summary = "Make the scheduler read its configuration file again, as SIGHUP does.",
        .details =
            "Accounts, queues, policy, idle-stop, history, log-max, pure-keep and\n"
            "scatter-memory count from then on. Other options that have changed are printed:\n"
            "they need a restart. If the file has an error, the scheduler goes on with what\n"
            "it had, the error is printed with its line, and the exit code is 2.\n\n"
            "Only an admin, or the user who started the cluster, may do this.",
        .table = table,
    };
    struct gw_cli_verb verb;
    struct gw_error error;
    struct gw_value *answer = NULL;
    const char *restart = "";
    if (!gw_cli_begin(&options, argc, argv, &verb))
        return verb.exit_code;
    int rc = gw_client_query(verb.client, "reload", NULL, &answer, &error);
    if (rc == 0)
        rc = gw_value_get_str(answer, &restart, &error);
    if (rc == 0) {
        printf("the scheduler has read its configuration file\n");
        print_restarts(restart);
    }
    gw_value_unref(answer);
    return gw_cli_end(&verb, rc, &error);
}

static const struct gw_cli_command verbs[] = {
    {"reload", "make the scheduler read its configuration file again", run_reload},
    {"check", "check a configuration file", run_check},
    {"show", "show the values of a configuration file", run_show},
    {NULL, NULL, NULL},
};

int gw_cli_config(int argc, char **argv)
{
    return gw_cli_run_verb("config", verbs, argc, argv);
}
