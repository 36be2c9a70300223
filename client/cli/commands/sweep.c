/* `gangway sweep`: runs a search of parameters, and its verbs. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/atomic_file.h"
#include "client/cli/lib/options.h"
#include "client/cli/lib/table.h"
#include "client/cli/sweep/sweep_live.h"
#include "client/cli/sweep/sweep_view.h"
#include "client/cli/sweep/trial_command.h"
#include "client/cli/sweep/trial_template.h"
#include "graph/base/clock.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DRY_TRIALS = 20, DRY_MAX = 1000, TOP_TRIALS = 10, RECONNECT_S = 600, RECONNECT_MS = 500 };

/* -- Running --- */

static struct gw_sweep *interrupted; /* the sweep that a signal stops */

static void on_signal(int number)
{
    if (!interrupted)
        _exit(GW_EXIT_INTERRUPTED);
    gw_sweep_stop(interrupted);
    interrupted = NULL; /* the next one ends this process */
    (void)number;
}

struct run {
    struct gw_sweep_definition definition;
    struct gw_sweep_live live;
    struct gw_sweep *sweep;
    char *text;               /* of the definition */
    struct gw_client *client; /* borrowed; to ask for reports after the end */
};

static void on_change(struct gw_sweep *sweep, void *arg)
{
    struct run *run = arg;
    gw_sweep_live_update(&run->live, sweep);
}

static int make(const struct gw_trial *trial, struct gw_graph *graph, struct gw_sweep_task *task,
                void *arg, struct gw_error *error)
{
    struct run *run = arg;
    return gw_trial_command_make(trial, graph, task, &run->definition, error);
}

/* Makes the sweep of run->definition. */
static int run_init(struct run *run, bool attached, struct gw_error *error)
{
    struct gw_space *space = NULL;
    int rc = gw_sweep_definition_space(&run->definition, &space, error);
    if (rc < 0)
        return rc;
    run->text = gw_sweep_definition_text(&run->definition);
    return gw_sweep_new(
        space, &run->definition.search,
        GW_SWEEP_OPTIONS(.name = run->definition.name, .metric = run->definition.metric,
                         .attached = attached, .parallel = run->definition.parallel, .make = make,
                         .on_change = on_change, .definition = run->text, .arg = run),
        &run->sweep, error);
}

static void run_deinit(struct run *run)
{
    interrupted = NULL;
    gw_sweep_free(run->sweep);
    gw_sweep_definition_deinit(&run->definition);
    free(run->text);
}

/* Writes the trials as CSV or JSON; path NULL: standard output. */
static int write_trials(const struct run *run, const char *path, bool json, struct gw_error *error)
{
    struct gw_atomic_file file = {.file = stdout};
    int rc = path ? gw_atomic_file_open(&file, path, error) : 0;
    if (rc < 0)
        return rc;
    if (json)
        rc = gw_sweep_view_json(file.file, &run->definition, run->sweep, error);
    else
        gw_sweep_view_csv(file.file, &run->definition, run->sweep);
    if (!path)
        return rc;
    return gw_atomic_file_close(&file, rc < 0 ? rc : ferror(file.file) ? GW_EIO : 0, error);
}

/* Writes the files of --out: trials.csv and all pictures. */
static int write_out(const struct run *run, struct gw_error *error)
{
    char path[PATH_MAX];
    int rc = gw_cli_make_output(run->definition.out, error);
    if (rc < 0)
        return rc;
    (void)snprintf(path, sizeof path, "%.4000s/trials.csv", run->definition.out);
    rc = write_trials(run, path, false, error);
    return rc < 0 ? rc
                  : gw_sweep_export(run->sweep, run->client, GW_SWEEP_PICTURES, run->definition.out,
                                    error);
}

/* Prints the result of a sweep. Returns the exit code. */
static int print_result(const struct run *run, bool table)
{
    const struct gw_sweep_definition *d = &run->definition;
    struct gw_error error = {0};
    int rc = 0;
    if (d->json)
        rc = gw_sweep_view_json(stdout, d, run->sweep, &error);
    else {
        gw_sweep_view_summary(stdout, d, run->sweep);
        if (table && gw_sweep_count(run->sweep))
            rc = gw_sweep_view_table(stdout, d, run->sweep, TOP_TRIALS, &error);
        if (rc == 0)
            rc = gw_sweep_view_best(stdout, d, run->sweep, &error);
    }
    const bool none = rc == GW_ENOENT;
    if (none)
        gw_cli_message("gangway: no trial has succeeded: `gangway logs %" PRIu64
                       "` prints the output of trial 0",
                       gw_sweep_count(run->sweep) ? gw_sweep_trial(run->sweep, 0)->job : 0);
    if ((rc == 0 || none) && d->out)
        rc = write_out(run, &error);
    return rc < 0 && rc != GW_ENOENT ? gw_cli_error(&error) : none ? GW_EXIT_FAILED : GW_EXIT_OK;
}

/* Connects again if the scheduler was restarted, and goes on. */
static int run_until_over(struct run *run, struct gw_client **client,
                          const struct gw_client_options *options, struct gw_error *error)
{
    const uint64_t deadline_ns = gw_clock_now_ns() + RECONNECT_S * GW_NS_PER_S;
    int rc = gw_sweep_run(run->sweep, *client, error);
    while (rc == GW_ECLOSED && options->must_exist && gw_clock_now_ns() < deadline_ns) {
        gw_client_close(*client);
        *client = NULL;
        rc = gw_client_open(options, client, error);
        if (rc == 0)
            rc = gw_sweep_run(run->sweep, *client, error);
        else {
            rc = rc == GW_ENOSCHEDULER || rc == GW_EIO ? GW_ECLOSED : rc;
            nanosleep(&(struct timespec){.tv_nsec = RECONNECT_MS * (long)GW_NS_PER_MS}, NULL);
        }
    }
    return rc;
}

/* Refuses the name of a sweep that exists, unless it is to be continued. */
static int check_new(const struct run *run, struct gw_client *client, struct gw_error *error)
{
    const char *name = run->definition.name;
    char *text = NULL;
    int rc =
        run->definition.continues ? GW_ENOENT : gw_sweep_definition(client, name, &text, error);
    free(text);
    if (rc == GW_ENOENT)
        return 0;
    return rc < 0 ? rc
                  : gw_error_set(error, GW_EEXIST,
                                 "the cluster has a sweep %s: `gangway sweep resume %s` continues "
                                 "it; give a new one another --name",
                                 name, name);
}

static int run_here(struct run *run)
{
    struct gw_client *client = NULL;
    struct gw_error error = {0};
    struct gw_client_options options = GW_INIT(gw_client_options, .name = gw_cli_session_name(),
                                               .must_exist = true, .no_reconnect = true);
    int rc = gw_client_open(&options, &client, &error);
    const bool attached = rc == GW_ENOSCHEDULER && !getenv("GANGWAY_ADDRESS");
    if (attached) {
        options.must_exist = false;
        options.private_cluster = true;
        rc = gw_cli_connect(&options, &client, &error);
    }
    if (rc == 0 && !attached)
        rc = check_new(run, client, &error);
    if (rc == 0)
        rc = run_init(run, attached, &error);
    if (rc < 0) {
        gw_client_close(client);
        return gw_cli_error(&error);
    }
    gw_sweep_live_init(&run->live, &run->definition);
    if (!getenv("GANGWAY_JOB")) { /* a task that ends may start again elsewhere and go on */
        interrupted = run->sweep;
        (void)signal(SIGINT, on_signal);
        (void)signal(SIGTERM, on_signal);
    }
    rc = run_until_over(run, &client, &options, &error);
    gw_sweep_live_deinit(&run->live);
    int exit_code = rc < 0 ? gw_cli_error(&error) : GW_EXIT_OK;
    if (rc == GW_ECANCELLED)
        exit_code = GW_EXIT_INTERRUPTED;
    if (rc < 0 && !attached && gw_sweep_count(run->sweep) > 0 && rc != GW_EMISMATCH &&
        gw_sweep_trial(run->sweep, 0)->job)
        gw_cli_message("gangway: `gangway sweep resume %s` continues it", run->definition.name);
    if (rc == 0 || (gw_sweep_count(run->sweep) > 0 && rc == GW_ECANCELLED)) {
        run->client = client;
        const int printed = print_result(run, !run->definition.quiet);
        exit_code = exit_code ? exit_code : printed;
    }
    gw_client_close(client);
    return exit_code;
}

/* -- In the cluster --- */

/* Submits the controller: this program, as a task that continues the sweep wherever it starts. */
static int submit_controller(struct run *run, struct gw_client *client, uint64_t *job,
                             struct gw_error *error)
{
    char self[PATH_MAX], annotation[GW_SWEEP_NAME_MAX + 32], name[GW_SWEEP_NAME_MAX + 16],
        **words = NULL, *cwd = NULL;
    const ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    size_t count = 0;
    if (bytes < 0)
        return gw_error_set(error, GW_EIO, "cannot find the path of this program in /proc");
    self[bytes] = '\0';
    run->text = gw_sweep_definition_text(&run->definition);
    int rc = run->text ? gw_sweep_definition_parse(run->text, &words, &cwd, error)
                       : gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc < 0)
        return rc;
    while (words[count])
        count++;
    const char **argv = calloc(count + 4, sizeof *argv);
    struct gw_graph *graph = gw_graph_new();
    struct gw_future *future = NULL;
    if (argv) {
        argv[0] = self;
        argv[1] = "sweep";
        argv[2] = "--continue";
        memcpy(argv + 3, words, count * sizeof *argv);
    }
    (void)snprintf(annotation, sizeof annotation, "sweep.controller=%s", run->definition.name);
    (void)snprintf(name, sizeof name, "%s-controller", run->definition.name);
    const gw_node node = gw_graph_command(
        graph, GW_COMMAND(.argv = argv, .cwd = cwd),
        GW_OPTIONS(.slots = GW_NONE, .worker_losses_max = GW_UNLIMITED, .annotations = annotation));
    rc = argv ? gw_client_submit_many(client, graph,
                                      GW_SUBMIT_OPTIONS(.name = name, .detached = true), &node, 1,
                                      &future, error)
              : gw_error_set(error, GW_ENOMEM, "out of memory");
    *job = rc == 0 ? gw_future_job(future) : 0;
    gw_future_release(future);
    gw_graph_free(graph);
    free(argv);
    free(cwd);
    gw_trial_template_free(words);
    return rc;
}

static int run_detached(struct run *run)
{
    struct gw_client *client = NULL;
    struct gw_error error = {0};
    uint64_t job = 0;
    const struct gw_client_options options =
        GW_INIT(gw_client_options, .name = gw_cli_session_name(), .must_exist = true);
    int rc = gw_cli_connect(&options, &client, &error);
    if (rc == 0)
        rc = check_new(run, client, &error);
    if (rc == 0)
        rc = submit_controller(run, client, &job, &error);
    gw_client_close(client);
    if (rc < 0)
        return gw_cli_error(&error);
    if (run->definition.json)
        printf("{\"name\": \"%s\", \"job\": %" PRIu64 "}\n", run->definition.name, job);
    else
        puts(run->definition.name);
    return GW_EXIT_OK;
}

/* Prints the first trials of the search, as far as they do not depend on results. */
static int dry_run(struct run *run)
{
    struct gw_error error = {0};
    struct gw_space *space = NULL;
    struct gw_search *search = NULL;
    const struct gw_trial *trial;
    uint32_t count = 0;
    int rc = gw_sweep_definition_space(&run->definition, &space, &error);
    if (rc == 0)
        rc = gw_search_new(space, &run->definition.search, &search, &error);
    while (rc == 0 && count <= DRY_MAX && (rc = gw_search_ask(search, 0, &trial, &error)) == 0) {
        struct gw_sweep_task task = {.annotations = ""};
        struct gw_graph *graph = gw_graph_new();
        rc = gw_trial_command_make(trial, graph, &task, &run->definition, &error);
        gw_graph_free(graph);
        if (rc == 0 && count++ < DRY_TRIALS) {
            char *command = gw_trial_command_text(&run->definition, trial);
            printf("trial %" PRIu32 " (%u slot%s): ", trial->number, task.slots,
                   task.slots == 1 ? "" : "s");
            gw_table_say(stdout, command ? command : "out of memory");
            putchar('\n');
            free(command);
        }
    }
    gw_search_free(search);
    if (rc < 0 && rc != GW_ENOENT && rc != GW_EAGAIN)
        return gw_cli_error(&error);
    if (count > DRY_TRIALS)
        printf("(%s%" PRIu32 " more)\n", count > DRY_MAX ? "at least " : "", count - DRY_TRIALS);
    printf("%s%" PRIu32 " trials%s\n", count > DRY_MAX ? "at least " : "", count,
           run->definition.search.method == GW_SEARCH_TPE
               ? "; tpe chooses the parameters from the results, so later trials will differ"
               : "");
    return GW_EXIT_OK;
}

static int run_words(char *const *words, const char *cwd)
{
    static struct run run;
    int exit_code;
    if (!gw_sweep_definition_init(&run.definition, words, cwd, &exit_code))
        return exit_code;
    exit_code = run.definition.dry_run    ? dry_run(&run)
                : run.definition.detached ? run_detached(&run)
                                          : run_here(&run);
    run_deinit(&run);
    return exit_code;
}

/* -- Verbs --- */

/* Finds a sweep of the cluster by its name, and loads it if `load`. */
static int find(struct gw_client *client, const char *name, bool load, struct run *run,
                struct gw_error *error)
{
    char *text = NULL, **words = NULL, *cwd = NULL;
    int exit_code;
    int rc = gw_sweep_definition(client, name, &text, error);
    if (rc == 0)
        rc = gw_sweep_definition_parse(text, &words, &cwd, error);
    free(text);
    if (rc < 0)
        return rc;
    if (!gw_sweep_definition_init(&run->definition, words, cwd, &exit_code))
        rc = gw_error_set(error, GW_EINVAL, "the options of the sweep %s are wrong: see above",
                          name);
    gw_trial_template_free(words);
    free(cwd);
    if (rc == 0 && load)
        rc = run_init(run, false, error);
    return rc == 0 && load ? gw_sweep_load(run->sweep, client, error) : rc;
}

/* A verb that shows one sweep. */
static int show_one(const struct gw_options *options, int argc, char **argv, bool *json,
                    int (*show)(struct run *run, struct gw_error *error))
{
    struct gw_cli_verb verb;
    struct gw_error error = {0};
    struct run run = {0};
    if (!gw_cli_begin(options, argc, argv, &verb))
        return verb.exit_code;
    int rc = find(verb.client, argv[verb.first], true, &run, &error);
    if (rc == 0) {
        run.definition.json = *json;
        run.client = verb.client;
        rc = show(&run, &error);
    }
    run_deinit(&run);
    return gw_cli_end(&verb, rc, &error);
}

static bool shows_json, shows_command;

static int show_trials(struct run *run, struct gw_error *error)
{
    if (run->definition.json)
        return gw_sweep_view_json(stdout, &run->definition, run->sweep, error);
    gw_sweep_view_summary(stdout, &run->definition, run->sweep);
    return gw_sweep_view_table(stdout, &run->definition, run->sweep, 0, error);
}

static int run_show(int argc, char **argv)
{
    const struct gw_option table[] = {{"json", 0, GW_OPTION_FLAG, &shows_json, NULL, "print JSON"},
                                      {0}};
    const struct gw_options options = {.command = "sweep show",
                                       .arguments = "NAME",
                                       .summary = "Show the trials of a sweep, the best first.",
                                       .table = table,
                                       .arguments_min = 1,
                                       .arguments_max = 1};
    return show_one(&options, argc, argv, &shows_json, show_trials);
}

static int show_best(struct run *run, struct gw_error *error)
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
    static bool json;
    const struct gw_option table[] = {{"command", 0, GW_OPTION_FLAG, &shows_command, NULL,
                                       "print only the command line that runs it again"},
                                      {0}};
    const struct gw_options options = {
        .command = "sweep best",
        .arguments = "NAME",
        .summary = "Show the best trial of a sweep.",
        .details = "`gangway get JOB --checkpoint -o DIR` fetches the checkpoint of its job.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1};
    return show_one(&options, argc, argv, &json, show_best);
}

static const char *export_format, *export_path;

static int export_trials(struct run *run, struct gw_error *error)
{
    const char *format = export_format ? export_format : "csv", *path = export_path;
    if (strcmp(format, "csv") == 0 || strcmp(format, "json") == 0)
        return write_trials(run, path, *format == 'j', error);
    if (strcmp(format, "optuna") == 0)
        return gw_sweep_export(run->sweep, run->client, GW_SWEEP_OPTUNA, path ? path : "-", error);
    if (strcmp(format, "tensorboard") != 0)
        return gw_error_set(error, GW_EINVAL,
                            "there is no format %s: give csv, json, optuna or tensorboard", format);
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
         "csv (the default), json, optuna (a journal file) or tensorboard (a folder)"},
        {"output", 'o', GW_OPTION_TEXT, &export_path, "PATH",
         "write it there, not to standard output"},
        {0}};
    const struct gw_options options = {
        .command = "sweep export",
        .arguments = "NAME",
        .summary = "Write the trials of a sweep as files of other tools.",
        .details =
            "`optuna-dashboard FILE` opens the journal, `tensorboard --logdir DIR` the folder.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1};
    return show_one(&options, argc, argv, &json, export_trials);
}

static int plot(struct run *run, struct gw_error *error)
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
        .details = "Values against steps and time, the best so far, parallel coordinates, slices, "
                   "importance of the parameters, timeline.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1};
    return show_one(&options, argc, argv, &json, plot);
}

static int stop_one(struct gw_client *client, const char *name, void *arg, struct gw_error *error)
{
    char event[GW_SWEEP_NAME_MAX + 16], *definition = NULL;
    (void)arg;
    int rc = gw_sweep_definition(client, name, &definition, error);
    free(definition);
    if (rc < 0)
        return rc;
    (void)snprintf(event, sizeof event, "sweep/%s/stop", name);
    rc = gw_event_set(client, event, error);
    if (rc == 0)
        fprintf(stderr, "sweep %s: its trials are being cancelled\n", name);
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

/* Runs a sweep of the cluster again. trials 0: as it was. */
static bool again_json, again_quiet;

#define AGAIN_OPTIONS                                                                              \
    {"json", 0, GW_OPTION_FLAG, &again_json, NULL, "print JSON at the end"},                       \
    {                                                                                              \
        "quiet", 'q', GW_OPTION_FLAG, &again_quiet, NULL, "print only the result"                  \
    }

static int run_again(const struct gw_options *options, int argc, char **argv,
                     const uint32_t *trials)
{
    struct gw_cli_verb verb;
    struct gw_error error = {0};
    struct run run = {0};
    if (!gw_cli_begin(options, argc, argv, &verb))
        return verb.exit_code;
    int rc = find(verb.client, argv[verb.first], false, &run, &error);
    const int ended = gw_cli_end(&verb, rc, &error);
    if (rc == 0 && *trials && run.definition.search.trials && *trials < run.definition.trials) {
        gw_cli_message("gangway sweep extend: the sweep has %" PRIu32 " trials: give more",
                       run.definition.trials);
        run_deinit(&run);
        return GW_EXIT_USAGE;
    }
    if (rc == 0 && *trials && gw_sweep_definition_extend(&run.definition, *trials) < 0) {
        gw_cli_message("gangway: out of memory");
        run_deinit(&run);
        return GW_EXIT_FAILED;
    }
    run.definition.continues = true;
    run.definition.json = again_json;
    run.definition.quiet = again_quiet;
    const int exit_code = rc == 0 ? run_here(&run) : ended;
    run_deinit(&run);
    return exit_code;
}

static int run_resume(int argc, char **argv)
{
    const struct gw_option table[] = {AGAIN_OPTIONS, {0}};
    static const uint32_t trials;
    const struct gw_options options = {
        .command = "sweep resume",
        .arguments = "NAME",
        .summary = "Continue a sweep that was stopped or whose terminal was closed.",
        .details = "Trials that have ended are not run again.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1};
    return run_again(&options, argc, argv, &trials);
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
    {"list", "list sweeps", run_list},
    {"show", "show the trials of a sweep", run_show},
    {"best", "show the best trial", run_best},
    {"stop", "cancel the running trials, and start no more", run_stop},
    {"resume", "continue a sweep", run_resume},
    {"extend", "continue a sweep with more trials", run_extend},
    {"export", "write the trials for other tools", run_export},
    {"plot", "draw pictures", run_plot},
    {NULL, NULL, NULL},
};

int gw_cli_sweep(int argc, char **argv)
{
    if (argc > 1 && argv[1][0] != '-')
        return gw_cli_run_verb("sweep", verbs, argc, argv);
    return run_words(argv + 1, NULL);
}
