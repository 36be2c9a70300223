/* Runs `gangway sweep`: here, in the cluster, or only as a list of what would run. */
#include "client/cli/sweep/sweep_command.h"

#include "client/cli/launch/notify.h"
#include "client/cli/lib/atomic_file.h"
#include "client/cli/lib/cli.h"
#include "client/cli/lib/table.h"
#include "client/cli/sweep/sweep_mlflow.h"
#include "client/cli/sweep/sweep_view.h"
#include "client/cli/sweep/trial_command.h"
#include "client/cli/sweep/trial_template.h"
#include "graph/base/clock.h"

#include <errno.h>
#include <fcntl.h>
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

static void on_change(struct gw_sweep *sweep, void *arg)
{
    struct gw_sweep_command *run = arg;
    gw_sweep_live_update(&run->live, sweep);
}

static int make(const struct gw_trial *trial, struct gw_graph *graph, struct gw_sweep_task *task,
                void *arg, struct gw_error *error)
{
    struct gw_sweep_command *run = arg;
    return gw_trial_command_make(trial, graph, task, &run->definition, error);
}

/* Makes the sweep of run->definition. */
static int run_init(struct gw_sweep_command *run, bool attached, struct gw_error *error)
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
                         .on_change = on_change, .definition = run->text, .arg = run,
                         .mlflow = run->definition.mlflow,
                         .mlflow_experiment =
                             run->experiment ? run->experiment : run->definition.experiment,
                         .account = run->definition.account, .queue = run->definition.queue),
        &run->sweep, error);
}

void gw_sweep_command_deinit(struct gw_sweep_command *run)
{
    interrupted = NULL;
    gw_sweep_free(run->sweep);
    gw_sweep_definition_deinit(&run->definition);
    free(run->text);
}

/* Writes the trials as CSV or JSON; path NULL: standard output. */
int gw_sweep_command_write(const struct gw_sweep_command *run, const char *path, bool json,
                           struct gw_error *error)
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
static int write_out(const struct gw_sweep_command *run, struct gw_error *error)
{
    char path[PATH_MAX];
    int rc = gw_cli_make_output(run->definition.out, error);
    if (rc < 0)
        return rc;
    (void)snprintf(path, sizeof path, "%.4000s/trials.csv", run->definition.out);
    rc = gw_sweep_command_write(run, path, false, error);
    return rc < 0 ? rc
                  : gw_sweep_export(run->sweep, run->client, GW_SWEEP_PICTURES, run->definition.out,
                                    error);
}

/* Prints the result of a sweep. Returns the exit code. */
static int print_result(const struct gw_sweep_command *run, bool table)
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
    if (!none && d->mlflow)
        gw_sweep_mlflow_finish(d, run->sweep, run->client);
    return rc < 0 && rc != GW_ENOENT ? gw_cli_error(&error) : none ? GW_EXIT_FAILED : GW_EXIT_OK;
}

/* Connects to a scheduler that is restarted within RECONNECT_S. */
static int connect_again(struct gw_client **client, const struct gw_client_options *options,
                         struct gw_error *error)
{
    const uint64_t deadline_ns = gw_clock_now_ns() + RECONNECT_S * GW_NS_PER_S;
    gw_client_close(*client);
    *client = NULL;
    int rc = gw_client_open(options, client, error);
    while ((rc == GW_ENOSCHEDULER || rc == GW_EIO) && gw_clock_now_ns() < deadline_ns) {
        nanosleep(&(struct timespec){.tv_nsec = RECONNECT_MS * (long)GW_NS_PER_MS}, NULL);
        rc = gw_client_open(options, client, error);
    }
    return rc;
}

/* Connects again if the scheduler was restarted, and goes on. A controller also waits for another
 * process that runs the sweep: that may be its own earlier attempt, whose host is lost. */
static int run_until_over(struct gw_sweep_command *run, struct gw_client **client,
                          const struct gw_client_options *options, struct gw_error *error)
{
    bool waits = false;
    int rc = gw_sweep_run(run->sweep, *client, error);
    while (options->must_exist &&
           (rc == GW_ECLOSED || (rc == GW_EEXIST && getenv("GANGWAY_JOB")))) {
        if (rc == GW_EEXIST && !waits)
            gw_cli_message("gangway sweep: waiting for another process that runs the sweep %s",
                           run->definition.name);
        waits = rc == GW_EEXIST;
        rc = rc == GW_ECLOSED ? connect_again(client, options, error) : 0;
        if (rc == 0)
            rc = gw_sweep_run(run->sweep, *client, error);
    }
    return rc;
}

/* Refuses the name of a sweep that exists, unless it is to be continued. */
static int check_new(const struct gw_sweep_command *run, struct gw_client *client,
                     struct gw_error *error)
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

static int run_here(struct gw_sweep_command *run)
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
    if (rc == 0 && run->definition.out) /* a bad path is an error now, not after the last trial */
        rc = gw_cli_make_output(run->definition.out, &error);
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
        rc != GW_EINVAL && gw_sweep_trial(run->sweep, 0)->job)
        gw_cli_message("gangway: `gangway sweep resume %s` continues it", run->definition.name);
    if (rc == 0 || (gw_sweep_count(run->sweep) > 0 && rc == GW_ECANCELLED)) {
        run->client = client;
        const int printed = print_result(run, !run->definition.quiet);
        exit_code = exit_code ? exit_code : printed;
    }
    gw_client_close(client);
    return exit_code;
}

int gw_sweep_command_run(struct gw_sweep_command *run)
{
    const struct gw_sweep_definition *d = &run->definition;
    const int exit_code = run_here(run);
    if (!d->notify || (d->continues && getenv("GANGWAY_JOB"))) /* the latter: see run_detached */
        return exit_code;
    (void)setenv("GANGWAY_SWEEP", d->name, 1);
    (void)setenv("GANGWAY_OUTCOME",
                 exit_code == GW_EXIT_OK            ? "done"
                 : exit_code == GW_EXIT_INTERRUPTED ? "cancelled"
                                                    : "failed",
                 1);
    gw_notify_run(d->notify);
    return exit_code;
}

/* -- In the cluster --- */

/* Submits the command of --notify as a job that runs when the controller has ended. */
static int submit_notify(const struct gw_sweep_command *run, struct gw_client *client, uint64_t job,
                         struct gw_error *error)
{
    const struct gw_sweep_definition *d = &run->definition;
    char sweep[GW_SWEEP_NAME_MAX + 16];
    const char *env[] = {sweep};
    const struct gw_launch_options options = {.notify = d->notify,
                                              .cwd = d->cwd,
                                              .account = d->account,
                                              .queue = d->queue,
                                              .env = {env, 1}};
    (void)snprintf(sweep, sizeof sweep, "GANGWAY_SWEEP=%s", d->name);
    return d->notify ? gw_notify_submit(client, &options, job, error) : 0;
}

/* Submits the controller: this program, as a task that continues the sweep wherever it starts. */
static int submit_controller(struct gw_sweep_command *run, struct gw_client *client, uint64_t *job,
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
                                      GW_SUBMIT_OPTIONS(.name = name, .detached = true,
                                                        .account = run->definition.account,
                                                        .queue = run->definition.queue),
                                      &node, 1, &future, error)
              : gw_error_set(error, GW_ENOMEM, "out of memory");
    *job = rc == 0 ? gw_future_job(future) : 0;
    gw_future_release(future);
    gw_graph_free(graph);
    free(argv);
    free(cwd);
    gw_trial_template_free(words);
    return rc;
}

static int run_detached(struct gw_sweep_command *run)
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
    if (rc == 0)
        rc = submit_notify(run, client, job, &error);
    gw_client_close(client);
    if (rc < 0)
        return gw_cli_error(&error);
    if (run->definition.json)
        printf("{\"name\": \"%s\", \"job\": %" PRIu64 "}\n", run->definition.name, job);
    else
        puts(run->definition.name);
    return GW_EXIT_OK;
}

/* Makes the first trials of the search, as far as they do not depend on results, and prints them if
 * `print`. Otherwise one is enough: its options are checked. */
static int make_trials(struct gw_sweep_command *run, bool print, uint32_t *count,
                       struct gw_error *error)
{
    struct gw_sweep_definition *d = &run->definition;
    struct gw_space *space = NULL;
    struct gw_search *search = NULL;
    const struct gw_trial *trial;
    int rc = gw_sweep_definition_space(d, &space, error);
    if (rc == 0)
        rc = gw_search_new(space, &d->search, &search, error);
    if (rc == GW_EINVAL && d->search.method == GW_SEARCH_GRID && !d->method) {
        const struct gw_error why = *error;
        rc = gw_error_set(error, rc, "%s; or give --trials N: without it, the sweep is a grid",
                          why.text);
    }
    const uint32_t most = print ? DRY_MAX : 0;
    while (rc == 0 && *count <= most && (rc = gw_search_ask(search, 0, &trial, error)) == 0) {
        struct gw_sweep_task task = {.annotations = ""};
        struct gw_graph *graph = gw_graph_new();
        rc = gw_trial_command_make(trial, graph, &task, d, error);
        gw_graph_free(graph);
        if (rc == 0 && (*count)++ < DRY_TRIALS && print) {
            char *command = gw_trial_command_text(d, trial);
            printf("trial %" PRIu32 " (%u slot%s): ", trial->number, task.slots,
                   task.slots == 1 ? "" : "s");
            gw_table_say(stdout, command ? command : "out of memory");
            putchar('\n');
            free(command);
        }
    }
    gw_search_free(search);
    return rc == GW_ENOENT || rc == GW_EAGAIN ? 0 : rc;
}

static int dry_run(struct gw_sweep_command *run)
{
    struct gw_error error = {0};
    uint32_t count = 0;
    if (make_trials(run, true, &count, &error) < 0)
        return gw_cli_error(&error);
    if (count > DRY_TRIALS)
        printf("(%s%" PRIu32 " more)\n", count > DRY_MAX ? "at least " : "", count - DRY_TRIALS);
    printf("%s%" PRIu32 " trials%s\n", count > DRY_MAX ? "at least " : "", count,
           run->definition.search.method == GW_SEARCH_TPE
               ? "; tpe chooses the parameters from the results, so later trials will differ"
               : "");
    return GW_EXIT_OK;
}

/* Runs a new sweep, if its first trial can be made. */
static int run_new(struct gw_sweep_command *run)
{
    struct gw_error error = {0};
    uint32_t count = 0;
    if (make_trials(run, false, &count, &error) < 0)
        return gw_cli_error(&error);
    return run->definition.detached ? run_detached(run) : gw_sweep_command_run(run);
}

int gw_sweep_command_words(char *const *words, const struct gw_cli_command *verbs)
{
    static struct gw_sweep_command run;
    int exit_code;
    if (!gw_sweep_definition_init(&run.definition, words, NULL, verbs, &exit_code))
        return exit_code;
    exit_code = run.definition.dry_run ? dry_run(&run) : run_new(&run);
    gw_sweep_command_deinit(&run);
    return exit_code;
}

int gw_sweep_command_name(struct gw_client *client, const char *typed,
                          char name[static GW_SWEEP_NAME_MAX + 1], struct gw_error *error)
{
    struct gw_value *arguments = gw_dict(), *jobs = NULL;
    (void)snprintf(name, GW_SWEEP_NAME_MAX + 1, "%s", typed);
    int rc = 0;
    if (strcmp(typed, "last") == 0) {
        rc = gw_dict_set(arguments, "all", gw_bool(true));
        rc = rc < 0 ? gw_error_set(error, rc, "out of memory")
                    : gw_client_query(client, "jobs", arguments, &jobs, error);
        *name = '\0';
    }
    for (size_t i = 0; i < gw_value_count(jobs) && !*name; i++) { /* the latest is the first */
        const struct gw_value *row = gw_value_find(gw_value_at(jobs, i), "annotations");
        if (*gw_table_text(row, "sweep.start"))
            (void)snprintf(name, GW_SWEEP_NAME_MAX + 1, "%s", gw_table_text(row, "sweep"));
    }
    gw_value_unref(arguments);
    gw_value_unref(jobs);
    return rc == 0 && !*name ? gw_error_set(error, GW_ENOENT, "there are no sweeps of yours") : rc;
}

/* Reads the words of a sweep. */
static int read_words(struct gw_sweep_command *run, const char *name, char *const *words,
                      const char *cwd, bool load, struct gw_error *error)
{
    int exit_code;
    if (!gw_sweep_definition_init(&run->definition, words, cwd, NULL, &exit_code))
        return gw_error_set(error, GW_EINVAL, "the options of the sweep %s are wrong: see above",
                            name);
    return load ? run_init(run, false, error) : 0;
}

/* Reads the words in the folder in which they were typed: they may name files. The process returns
 * if it only loads the sweep, which also works if the folder is missing here. */
static int read_in_folder(struct gw_sweep_command *run, const char *name, char *const *words,
                          const char *cwd, bool load, struct gw_error *error)
{
    const int here = open(".", O_PATH | O_CLOEXEC);
    int rc = 0;
    if (chdir(cwd) < 0 && !load)
        rc = gw_error_set(error, GW_EIO, "cannot enter the folder of the sweep, %s: %s", cwd,
                          strerror(errno));
    if (rc == 0)
        rc = read_words(run, name, words, cwd, load, error);
    if (load && fchdir(here) < 0 && rc == 0)
        rc = gw_error_set(error, GW_EIO, "cannot return to this folder: %s", strerror(errno));
    if (here >= 0)
        (void)close(here);
    return rc;
}

int gw_sweep_command_find(struct gw_client *client, const char *typed, bool load,
                          struct gw_sweep_command *run, struct gw_error *error)
{
    char *text = NULL, **words = NULL, *cwd = NULL, name[GW_SWEEP_NAME_MAX + 1];
    int rc = gw_sweep_command_name(client, typed, name, error);
    if (rc == 0)
        rc = gw_sweep_definition(client, name, &text, error);
    if (rc == 0)
        rc = gw_sweep_definition_parse(text, &words, &cwd, error);
    free(text);
    if (rc < 0)
        return rc;
    rc = read_in_folder(run, name, words, cwd, load, error);
    gw_trial_template_free(words);
    free(cwd);
    return rc == 0 && load ? gw_sweep_load(run->sweep, client, error) : rc;
}
