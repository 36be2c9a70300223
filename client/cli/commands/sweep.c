/* The verbs of `gangway sweep`. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/options.h"
#include "client/cli/lib/synonym.h"
#include "client/cli/lib/table.h"
#include "client/cli/sweep/sweep_command.h"
#include "client/cli/sweep/sweep_mlflow.h"
#include "client/cli/sweep/sweep_view.h"
#include "client/cli/sweep/trial_command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *export_format, *export_path, *export_experiment;

/* A verb that shows one sweep. */
static int show_one(const struct gw_options *options, int argc, char **argv, bool *json,
                    int (*show)(struct gw_sweep_command *run, struct gw_error *error))
{
    struct gw_cli_verb verb;
    struct gw_error error = {0};
    struct gw_sweep_command run = {0};
    if (!gw_cli_begin(options, argc, argv, &verb))
        return verb.exit_code;
    run.experiment = export_experiment;
    int rc = gw_sweep_command_find(verb.client, argv[verb.first], true, &run, &error);
    if (rc == 0) {
        run.definition.json = *json;
        run.client = verb.client;
        rc = show(&run, &error);
    }
    gw_sweep_command_deinit(&run);
    return gw_cli_end(&verb, rc, &error);
}

static bool shows_json, shows_command;
static uint32_t shows_count;

static int show_trials(struct gw_sweep_command *run, struct gw_error *error)
{
    if (run->definition.json)
        return gw_sweep_view_json(stdout, &run->definition, run->sweep, error);
    gw_sweep_view_summary(stdout, &run->definition, run->sweep);
    return gw_sweep_view_table(stdout, &run->definition, run->sweep, shows_count, error);
}

static int run_show(int argc, char **argv)
{
    const struct gw_option table[] = {{"limit", 0, GW_OPTION_COUNT, &shows_count, "N",
                                       "show only the best N trials in the table"},
                                      {"json", 0, GW_OPTION_FLAG, &shows_json, NULL, "print JSON"},
                                      {0}};
    const struct gw_options options = {.command = "sweep show",
                                       .arguments = "NAME",
                                       .summary = "Show the trials of a sweep, the best first.",
                                       .details = "NAME may be last, the latest sweep, here and "
                                                  "for the other verbs.",
                                       .table = table,
                                       .synonyms = gw_synonym_sweep_show,
                                       .arguments_min = 1,
                                       .arguments_max = 1};
    return show_one(&options, argc, argv, &shows_json, show_trials);
}

static int show_best(struct gw_sweep_command *run, struct gw_error *error)
{
    const struct gw_sweep_trial *best;
    int rc = gw_sweep_best(run->sweep, &best, error);
    if (rc < 0 || !shows_command)
        return rc < 0 ? rc : gw_sweep_view_best(stdout, &run->definition, run->sweep, error);
    char *command = gw_trial_command_text(&run->definition, best->trial);
    if (!command)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    puts(command);
    free(command);
    return 0;
}

static int run_best(int argc, char **argv)
{
    const struct gw_option table[] = {{"command", 0, GW_OPTION_FLAG, &shows_command, NULL,
                                       "print only the command line that runs it again"},
                                      {"json", 0, GW_OPTION_FLAG, &shows_json, NULL, "print JSON"},
                                      {0}};
    const struct gw_options options = {
        .command = "sweep best",
        .arguments = "NAME",
        .summary = "Show the best trial of a sweep.",
        .details = "`gangway get JOB --checkpoint -o DIR` fetches the checkpoint of its job.",
        .table = table,
        .synonyms = gw_synonym_sweep_show,
        .arguments_min = 1,
        .arguments_max = 1};
    return show_one(&options, argc, argv, &shows_json, show_best);
}

static int export_mlflow(const struct gw_sweep_command *run, struct gw_error *error)
{
    const char *url = export_path ? export_path : run->definition.mlflow;
    return url ? gw_sweep_mlflow_send(&run->definition, run->sweep, run->client, url, error)
               : gw_error_set(error, GW_EINVAL, "mlflow needs a server: add -o URL");
}

static int export_trials(struct gw_sweep_command *run, struct gw_error *error)
{
    const char *format = export_format ? export_format : "csv", *path = export_path;
    if (strcmp(format, "csv") == 0 || strcmp(format, "json") == 0)
        return gw_sweep_command_write(run, path, *format == 'j', error);
    if (strcmp(format, "optuna") == 0)
        return gw_sweep_export(run->sweep, run->client, GW_SWEEP_OPTUNA, path ? path : "-", error);
    if (strcmp(format, "mlflow") == 0)
        return export_mlflow(run, error);
    if (strcmp(format, "tensorboard") != 0)
        return gw_error_set(error, GW_EINVAL,
                            "there is no format %s: give csv, json, optuna, tensorboard or mlflow",
                            format);
    if (!path)
        return gw_error_set(error, GW_EINVAL, "tensorboard needs a folder: add -o DIR");
    const int rc = gw_cli_make_output(path, error);
    return rc < 0 ? rc
                  : gw_sweep_export(run->sweep, run->client, GW_SWEEP_TENSORBOARD, path, error);
}

static int run_export(int argc, char **argv)
{
    static bool json;
    const struct gw_option table[] = {
        {"format", 0, GW_OPTION_TEXT, &export_format, "FORMAT",
         "csv (the default), json, optuna (a journal file),\ntensorboard (a folder) or mlflow (a "
         "server)"},
        {"output", 'o', GW_OPTION_TEXT, &export_path, "PATH",
         "write it there, not to standard output; for mlflow:\nthe URL of the server"},
        {"experiment", 0, GW_OPTION_TEXT, &export_experiment, "NAME",
         "experiment of MLflow (default: Default)"},
        {0}};
    const struct gw_options options = {
        .command = "sweep export",
        .arguments = "NAME",
        .summary = "Write the trials of a sweep as files of other tools, or to an MLflow server.",
        .details = "`optuna-dashboard FILE` opens the journal, `tensorboard --logdir DIR` the\n"
                   "folder. An MLflow server gets what it does not have yet.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1};
    return show_one(&options, argc, argv, &json, export_trials);
}

static int plot(struct gw_sweep_command *run, struct gw_error *error)
{
    if (!export_path)
        return gw_error_set(error, GW_EINVAL, "the pictures need a folder: add -o DIR");
    const int rc = gw_cli_make_output(export_path, error);
    return rc < 0 ? rc
                  : gw_sweep_export(run->sweep, run->client, GW_SWEEP_PICTURES, export_path, error);
}

static int run_plot(int argc, char **argv)
{
    static bool json;
    const struct gw_option table[] = {
        {"output", 'o', GW_OPTION_TEXT, &export_path, "DIR", "folder for the pictures; needed"},
        {0}};
    const struct gw_options options = {
        .command = "sweep plot",
        .arguments = "NAME",
        .summary = "Draw pictures of a sweep, as SVG files.",
        .details = "Values against steps and time, the best so far, parallel coordinates, slices,\n"
                   "importance of the parameters, timeline, time to a target against ranks.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1};
    return show_one(&options, argc, argv, &json, plot);
}

/* Asks for the jobs whose annotation `key` is the name. */
static int ask_jobs(struct gw_client *client, const char *key, const char *name,
                    struct gw_value **jobs, struct gw_error *error)
{
    struct gw_value *where = gw_dict(), *arguments = gw_dict();
    int rc = gw_dict_set(where, key, gw_str(name));
    rc = gw_dict_set(arguments, "where", rc == 0 ? where : NULL);
    if (rc == 0)
        rc = gw_dict_set(arguments, "all", gw_bool(true));
    rc = rc == 0 ? gw_client_query(client, "jobs", arguments, jobs, error)
                 : gw_error_set(error, rc, "out of memory");
    gw_value_unref(arguments);
    return rc;
}

/* Refuses a sweep of which a job has not ended. */
static int check_ended(const struct gw_value *jobs, const char *name, struct gw_error *error)
{
    for (size_t i = 0; i < gw_value_count(jobs); i++)
        if (gw_table_number(gw_value_at(jobs, i), "ended_ns") == 0)
            return gw_error_set(error, GW_EINVAL,
                                "job %" PRId64 " of the sweep %s has not ended: `gangway sweep "
                                "stop %s` ends the sweep",
                                gw_table_number(gw_value_at(jobs, i), "id"), name, name);
    return 0;
}

static int stop_one(struct gw_client *client, const char *typed, void *arg, struct gw_error *error)
{
    char event[GW_SWEEP_NAME_MAX + 16], name[GW_SWEEP_NAME_MAX + 1], *definition = NULL;
    struct gw_value *jobs = NULL;
    (void)arg;
    int rc = gw_sweep_command_name(client, typed, name, error);
    if (rc == 0)
        rc = gw_sweep_definition(client, name, &definition, error);
    free(definition);
    if (rc < 0)
        return rc;
    (void)snprintf(event, sizeof event, "sweep/%s/stop", name);
    rc = gw_event_set(client, event, error);
    if (rc == 0)
        rc = ask_jobs(client, "sweep", name, &jobs, error);
    if (rc == 0)
        fprintf(stderr,
                check_ended(jobs, name, NULL) < 0 ? "sweep %s: its trials are being cancelled\n"
                                                  : "sweep %s: no trial of it runs\n",
                name);
    gw_value_unref(jobs);
    return rc;
}

static int run_stop(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_options options = {
        .command = "sweep stop",
        .arguments = "NAME...",
        .summary = "Cancel the running trials of a sweep, and start no more.",
        .details = "`gangway sweep resume NAME` continues it.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1000};
    return gw_cli_each(&options, argc, argv, stop_one, NULL);
}

static int remove_jobs(struct gw_client *client, const struct gw_value *jobs, const char *mark,
                       struct gw_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < gw_value_count(jobs) && rc == 0; i++) {
        const struct gw_value *job = gw_value_at(jobs, i);
        if (*gw_table_text(gw_value_find(job, "annotations"), mark))
            rc = gw_job_remove(client, (uint64_t)gw_table_number(job, "id"), error);
        rc = rc == GW_ENOENT ? 0 : rc; /* somebody else has removed it */
    }
    return rc;
}

static int remove_one(struct gw_client *client, const char *typed, void *arg,
                      struct gw_error *error)
{
    struct gw_value *trials = NULL, *controllers = NULL;
    char name[GW_SWEEP_NAME_MAX + 1];
    (void)arg;
    int rc = gw_sweep_command_name(client, typed, name, error);
    if (rc == 0)
        rc = ask_jobs(client, "sweep", name, &trials, error);
    if (rc == 0)
        rc = ask_jobs(client, "sweep.controller", name, &controllers, error);
    if (rc == 0 && gw_value_count(trials) + gw_value_count(controllers) == 0)
        rc = gw_error_set(error, GW_ENOENT,
                          "the cluster remembers no sweep %s: `gangway sweep list` shows those "
                          "that it does",
                          name);
    if (rc == 0 && (rc = check_ended(controllers, name, error)) == 0)
        rc = check_ended(trials, name, error);
    if (rc == 0 && (rc = remove_jobs(client, controllers, "sweep.controller", error)) == 0)
        rc = remove_jobs(client, trials, "sweep.start", error);
    if (rc == 0)
        fprintf(stderr, "sweep %s: removed\n", name);
    gw_value_unref(trials);
    gw_value_unref(controllers);
    return rc;
}

static int run_rm(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_options options = {
        .command = "sweep rm",
        .arguments = "NAME...",
        .summary = "Remove ended sweeps: the records and the output of all their trials.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1000};
    return gw_cli_each(&options, argc, argv, remove_one, NULL);
}

static bool again_json, again_quiet;

#define AGAIN_OPTIONS                                                                              \
    {"json", 0, GW_OPTION_FLAG, &again_json, NULL, "print JSON at the end"},                       \
    {                                                                                              \
        "quiet", 'q', GW_OPTION_FLAG, &again_quiet, NULL, "print only the result"                  \
    }

/* Gives the sweep more trials. Returns the exit code, 0 if it can go on. */
static int extend(struct gw_sweep_command *run, uint32_t trials)
{
    const uint32_t most = run->definition.search.trials;
    if (!trials || (most && trials <= most)) {
        if (most)
            gw_cli_message("gangway sweep extend: the sweep has %" PRIu32
                           " trials: give --trials N with more; `gangway sweep resume %s` runs "
                           "those that are missing",
                           most, run->definition.name);
        else
            gw_cli_message("gangway sweep extend: --trials N is missing: the number of trials in "
                           "all");
        return GW_EXIT_USAGE;
    }
    if (gw_sweep_definition_extend(&run->definition, trials) == 0)
        return GW_EXIT_OK;
    gw_cli_message("gangway: out of memory");
    return GW_EXIT_FAILED;
}

/* Runs a sweep of the cluster again. trials NULL: as it was. */
static int run_again(const struct gw_options *options, int argc, char **argv,
                     const uint32_t *trials)
{
    struct gw_cli_verb verb;
    struct gw_error error = {0};
    struct gw_sweep_command run = {0};
    if (!gw_cli_begin(options, argc, argv, &verb))
        return verb.exit_code;
    int rc = gw_sweep_command_find(verb.client, argv[verb.first], false, &run, &error);
    int exit_code = gw_cli_end(&verb, rc, &error);
    if (rc == 0 && trials)
        exit_code = extend(&run, *trials);
    run.definition.continues = true;
    run.definition.json = again_json;
    run.definition.quiet = again_quiet;
    const bool runs = exit_code == GW_EXIT_OK;
    if (runs)
        exit_code = gw_sweep_command_run(&run);
    if (runs && trials && run.sweep && gw_sweep_count(run.sweep) < *trials)
        gw_cli_message("gangway sweep extend: %" PRIu32 " of %" PRIu32 " trials: %s",
                       gw_sweep_count(run.sweep), *trials,
                       run.definition.search.method == GW_SEARCH_GRID
                           ? "the grid has no more"
                           : "the sweep was stopped, or another limit has ended it (--target, "
                             "--patience, --time-budget, --max-failures)");
    gw_sweep_command_deinit(&run);
    return exit_code;
}

static int run_resume(int argc, char **argv)
{
    const struct gw_option table[] = {AGAIN_OPTIONS, {0}};
    const struct gw_options options = {
        .command = "sweep resume",
        .arguments = "NAME",
        .summary = "Continue a sweep that was stopped or whose terminal was closed.",
        .details = "Trials that have ended are not run again.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1};
    return run_again(&options, argc, argv, NULL);
}

static int run_extend(int argc, char **argv)
{
    static uint32_t trials;
    const struct gw_option table[] = {
        {"trials", 0, GW_OPTION_COUNT, &trials, "N", "number of trials in all"},
        AGAIN_OPTIONS,
        {0}};
    const struct gw_options options = {.command = "sweep extend",
                                       .arguments = "NAME",
                                       .summary = "Continue a sweep with more trials.",
                                       .table = table,
                                       .arguments_min = 1,
                                       .arguments_max = 1};
    return run_again(&options, argc, argv, &trials);
}

/* Counts the jobs of each sweep. */
static int list_sweeps(const struct gw_value *jobs, struct gw_value *rows)
{
    int rc = 0;
    for (size_t i = 0; i < gw_value_count(jobs) && rc == 0; i++) {
        const struct gw_value *job = gw_value_at(jobs, i);
        const char *name = gw_table_text(gw_value_find(job, "annotations"), "sweep");
        struct gw_value *row = NULL;
        if (!*name || !*gw_table_text(gw_value_find(job, "annotations"), "sweep.start"))
            continue;
        for (size_t k = 0; k < gw_value_count(rows) && !row; k++)
            if (strcmp(gw_table_text(gw_value_at(rows, k), "name"), name) == 0)
                row = gw_value_at(rows, k);
        if (!row) {
            row = gw_dict();
            rc = gw_dict_set(row, "name", gw_str(name));
            rc = rc < 0 ? rc : gw_list_push(rows, row);
        }
        const bool live = gw_table_number(job, "ended_ns") == 0;
        if (rc == 0)
            rc = gw_dict_set(row, "jobs", gw_i64(gw_table_number(row, "jobs") + 1));
        if (rc == 0)
            rc = gw_dict_set(row, "live", gw_i64(gw_table_number(row, "live") + live));
        if (rc == 0) /* the oldest is the last */
            rc = gw_dict_set(row, "began_ns", gw_i64(gw_table_number(job, "submitted_ns")));
    }
    return rc;
}

static int run_list(int argc, char **argv)
{
    static bool json;
    static const struct gw_column columns[] = {{"name", "NAME", GW_CELL_TEXT},
                                               {"jobs", "JOBS", GW_CELL_NUMBER},
                                               {"live", "UNFINISHED", GW_CELL_NUMBER},
                                               {"began_ns", "AGE", GW_CELL_SINCE},
                                               {0}};
    const struct gw_option table[] = {{"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"}, {0}};
    const struct gw_options options = {.command = "sweep list",
                                       .arguments = "",
                                       .summary = "List your sweeps, the newest first.",
                                       .table = table};
    struct gw_cli_verb verb;
    struct gw_error error = {0};
    struct gw_value *arguments = gw_dict(), *jobs = NULL, *rows = gw_list();
    if (!gw_cli_begin(&options, argc, argv, &verb)) {
        gw_value_unref(arguments);
        gw_value_unref(rows);
        return verb.exit_code;
    }
    int rc = gw_dict_set(arguments, "all", gw_bool(true));
    rc = rc < 0 ? rc : gw_client_query(verb.client, "jobs", arguments, &jobs, &error);
    if (rc == 0 && (rc = list_sweeps(jobs, rows)) < 0)
        (void)gw_error_set(&error, rc, "out of memory");
    if (rc == 0 && json)
        rc = gw_table_json(stdout, rows, false);
    else if (rc == 0 && gw_value_count(rows) > 0)
        gw_table_print(stdout, columns, rows);
    else if (rc == 0)
        fprintf(stderr, "no sweeps\n");
    gw_value_unref(arguments);
    gw_value_unref(jobs);
    gw_value_unref(rows);
    return gw_cli_end(&verb, rc, &error);
}

static const struct gw_cli_command verbs[] = {
    {"list", "list your sweeps", run_list},
    {"show", "show the trials of a sweep", run_show},
    {"best", "show the best trial", run_best},
    {"stop", "cancel the running trials, and start no more", run_stop},
    {"resume", "continue a sweep", run_resume},
    {"extend", "continue a sweep with more trials", run_extend},
    {"export", "write the trials for other tools", run_export},
    {"plot", "draw pictures", run_plot},
    {"rm", "remove ended sweeps", run_rm},
    {NULL, NULL, NULL},
};

int gw_cli_sweep(int argc, char **argv)
{
    if (argc > 1 && argv[1][0] != '-')
        return gw_cli_run_verb("sweep", verbs, argc, argv);
    return gw_sweep_command_words(argv + 1, verbs);
}
