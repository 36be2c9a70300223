/* Running a command: submit, show its output live, end as it ends. In the foreground Ctrl-C cancels
 * it, first gently, then hard; what is detached is never cancelled by this process. */
#include "client/cli/launch.h"

#include "client/cli/cli.h"
#include "client/cli/options.h"
#include "client/cli/stream.h"
#include "client/env.h"

#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

struct launch {
    bool gang, detached, json, quiet;
    uint32_t gpus;
    struct gw_task_options task;
    struct gw_option_texts env;
    const char *name, *cwd;
    const char **command;
    struct gw_client *client;
    pthread_mutex_t lock; /* of what follows */
    struct gw_future *future;
    int interrupts;
    bool over; /* the job has ended: a signal ends this process */
};

/* -- Options -------------------------------------------------------------------------------------
 */

static bool parse(struct launch *launch, int argc, char **argv, int *exit_code)
{
    struct gw_task_options *task = &launch->task;
    const char *who = launch->gang ? "each rank" : "it";
    char gpus[40], memory[48], slots[64];
    snprintf(gpus, sizeof gpus, "GPUs that %s takes", who);
    snprintf(memory, sizeof memory, "memory reserved for %s, like 8G", who);
    snprintf(slots, sizeof slots, "slots that %s takes (default: 1)", who);
    const struct gw_option table[] = {
        {"ranks", 'n', GW_OPTION_U32, &task->ranks, "N", "processes of the gang (default: 1)"},
        {"detach", 'd', GW_OPTION_FLAG, &launch->detached, NULL,
         "print the job's number and leave it to\nthe cluster (`gangway up` first)"},
        {"name", 0, GW_OPTION_TEXT, &launch->name, "NAME", "of the job, for listings"},
        {"env", 'e', GW_OPTION_TEXTS, &launch->env, "NAME=VALUE",
         "set in its environment, beside this one;\nmay be given many times"},
        {"cwd", 'C', GW_OPTION_TEXT, &launch->cwd, "DIR", "where it runs (default: here)"},
        {"wall", 0, GW_OPTION_DURATION, &task->wall_ns, "TIME",
         "killed when it runs longer (exit code 124)"},
        {"grace", 0, GW_OPTION_DURATION, &task->grace_ns, "TIME",
         "from SIGTERM to SIGKILL (default: 10s)"},
        {"fail-grace", 0, GW_OPTION_DURATION, &task->fail_grace_ns, "TIME",
         "the same when another rank failed\n(default: 200ms)"},
        {"retries", 0, GW_OPTION_U32, &task->retries, "N", "run again when it fails"},
        {"priority", 'p', GW_OPTION_I32, &task->priority, "P", "higher ones first"},
        {launch->gang ? "slots-per-rank" : "slots", 0, GW_OPTION_U32, &task->slots, "N", slots},
        {launch->gang ? "gpus-per-rank" : "gpus", 0, GW_OPTION_U32, &launch->gpus, "N", gpus},
        {"memory", 0, GW_OPTION_SIZE, &task->memory_bytes, "SIZE", memory},
        {"quiet", 'q', GW_OPTION_FLAG, &launch->quiet, NULL, "do not show its output"},
        {"json", 0, GW_OPTION_FLAG, &launch->json, NULL,
         "print JSON: a line for each line of output,\nthen one with the end"},
        {0},
    };
    const struct gw_options options = {
        .command = launch->gang ? "dispatch" : "submit",
        .arguments = "-- COMMAND [ARGUMENT...]",
        .summary = launch->gang ? "Run a command as a gang: N ranks that start together or not at "
                                  "all, with RANK,\nWORLD_SIZE, MASTER_ADDR and what launchers "
                                  "set, and end together when one fails."
                                : "Run a command as a task.",
        .details = "Without a running cluster a private one is started for it, with as many slots\n"
                   "as it needs. Its output is shown live; the exit code is its own. Ctrl-C once\n"
                   "ends it gently, twice at once.",
        .table = launch->gang ? table : table + 1,
        .arguments_min = 1,
        .arguments_max = INT32_MAX,
        .command_line = true,
    };
    int first;
    if (launch->gang)
        task->ranks = 1;
    if (!gw_options_parse(&options, argc, argv, &first, exit_code))
        return false;
    if (launch->gang && task->ranks == 0) {
        fprintf(stderr, "gangway dispatch: -n 0: a gang has at least one rank\n");
        *exit_code = GW_EXIT_USAGE;
        return false;
    }
    for (size_t i = 0; i < launch->env.count; i++) {
        if (strchr(launch->env.items[i], '='))
            continue;
        fprintf(stderr, "gangway %s: --env %s is not NAME=VALUE\n", options.command,
                launch->env.items[i]);
        *exit_code = GW_EXIT_USAGE;
        return false;
    }
    task->gpus_per_rank = (int32_t)launch->gpus;
    launch->command = (const char **)(uintptr_t)(argv + first);
    return true;
}

/* This process's environment as the library would pass it, with --env over it. NULL: no change, or
 * out of memory (*failed). */
static const char **make_env(const struct launch *launch, bool *failed)
{
    size_t count = 0, kept = 0;
    *failed = false;
    if (launch->env.count == 0)
        return NULL;
    while (environ[count])
        count++;
    const char **env = calloc(count + launch->env.count + 1, sizeof *env);
    *failed = !env;
    for (size_t i = 0; env && i < count; i++) {
        bool stays = gw_env_goes_along(environ[i]);
        for (size_t k = 0; k < launch->env.count; k++) {
            size_t length = strcspn(launch->env.items[k], "=") + 1;
            stays = stays && strncmp(environ[i], launch->env.items[k], length) != 0;
        }
        if (stays)
            env[kept++] = environ[i];
    }
    for (size_t k = 0; env && k < launch->env.count; k++)
        env[kept++] = launch->env.items[k];
    return env;
}

/* -- Submitting ----------------------------------------------------------------------------------
 */

static int submit(struct launch *launch, struct gw_error *error)
{
    bool failed;
    const char **env = make_env(launch, &failed);
    if (failed)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    const struct gw_command command = {.argv = launch->command, .env = env, .cwd = launch->cwd};
    const struct gw_submit_options options = {.name = launch->name, .detached = launch->detached};
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_graph_command(graph, &command, &launch->task);
    struct gw_future *future = NULL;
    int rc = gw_client_submit_many(launch->client, graph, &options, &node, 1, &future, error);
    pthread_mutex_lock(&launch->lock);
    launch->future = future;
    pthread_mutex_unlock(&launch->lock);
    gw_graph_free(graph);
    free(env);
    return rc;
}

/* -- Signals -------------------------------------------------------------------------------------
 */

/* They are blocked everywhere and taken here, one after the other. */
static void *signal_thread(void *arg)
{
    struct launch *launch = arg;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    for (;;) {
        int number;
        if (sigwait(&set, &number) != 0)
            continue;
        pthread_mutex_lock(&launch->lock);
        int count = ++launch->interrupts;
        if (count > 2 || launch->over || !launch->future)
            _exit(GW_EXIT_INTERRUPTED);
        if (isatty(STDERR_FILENO))
            fputc('\n', stderr); /* behind the terminal's ^C */
        fprintf(stderr, count == 1 ? "gangway: interrupted: ending it gently; once more ends it "
                                     "at once\n"
                                   : "gangway: ending it at once\n");
        gw_future_cancel(launch->future, count > 1, NULL);
        pthread_mutex_unlock(&launch->lock);
    }
    return NULL;
}

/* Before any other thread exists. */
static void take_signals(struct launch *launch)
{
    pthread_t thread;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&thread, NULL, signal_thread, launch) == 0)
        pthread_detach(thread);
    else
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* -- The end -------------------------------------------------------------------------------------
 */

static void print_json_end(const struct launch *launch, int exit_code, const struct gw_error *error)
{
    json_t *line =
        json_pack("{s:I, s:s, s:i}", "job", (json_int_t)gw_future_job(launch->future), "state",
                  error->code == 0               ? "done"
                  : error->code == GW_ECANCELLED ? "cancelled"
                                                 : "failed",
                  "exit_code", exit_code);
    if (error->code)
        json_object_set_new(line, "error", json_string(error->text));
    char *text = json_dumps(line, JSON_COMPACT);
    printf("%s\n", text ? text : "{}");
    free(text);
    json_decref(line);
}

static int finish(struct launch *launch)
{
    struct gw_error error = {0};
    struct gw_value *value = NULL;
    pthread_mutex_lock(&launch->lock);
    launch->over = true;
    bool interrupted = launch->interrupts > 0;
    pthread_mutex_unlock(&launch->lock);
    int rc = gw_future_get(launch->future, 0, &value, &error);
    gw_value_unref(rc == 0 ? value : NULL);
    int exit_code = rc == 0 ? 0 : gw_future_exit_code(launch->future);
    if (rc < 0 && interrupted)
        exit_code = GW_EXIT_INTERRUPTED;
    else if (rc == GW_ETIMEDOUT)
        exit_code = GW_EXIT_TIMEOUT;
    else if (rc < 0 && exit_code == 0)
        exit_code = gw_error_exit_code(&error);
    if (launch->json)
        print_json_end(launch, exit_code, &error);
    else if (rc < 0)
        gw_cli_print_failure(gw_future_job(launch->future), &error);
    return exit_code;
}

static int foreground(struct launch *launch)
{
    struct gw_stream *stream = NULL;
    struct gw_error error;
    const struct gw_stream_options options = {
        .client = launch->client,
        .job = gw_future_job(launch->future),
        .ranks = launch->task.ranks,
        .rank = -1,
        .out = true,
        .err = true,
        .follow = true,
        .json = launch->json,
        .future = launch->future,
    };
    if (!launch->quiet && gw_stream_open(&options, &stream) < 0)
        fprintf(stderr, "gangway: out of memory: its output is not shown\n");
    gw_future_wait(launch->future, UINT64_MAX);
    bool cut = gw_stream_close(stream, &error) < 0;
    int exit_code = finish(launch);
    if (cut && exit_code == 0) /* nothing else told */
        fprintf(stderr, "gangway: its output was not shown to the end: %s\n", error.text);
    return exit_code;
}

int gw_launch_main(bool gang, int argc, char **argv)
{
    static struct launch launch = {.lock = PTHREAD_MUTEX_INITIALIZER}; /* outlived by the thread */
    struct gw_error error;
    int exit_code;
    launch.gang = gang;
    if (!parse(&launch, argc, argv, &exit_code))
        return exit_code;
    const struct gw_client_options options = {.name = "gangway", .must_exist = launch.detached};
    if (!launch.detached)
        take_signals(&launch);
    int rc = gw_client_open(&options, &launch.client, &error);
    if (rc == GW_ENOSCHEDULER && launch.detached)
        gw_error_set(&error, rc,
                     "no cluster is running to leave the job to: `gangway up` starts one");
    if (rc == 0)
        rc = submit(&launch, &error);
    if (rc < 0)
        exit_code = gw_cli_error(&error);
    else if (launch.detached)
        printf(launch.json ? "{\"job\":%llu}\n" : "%llu\n",
               (unsigned long long)gw_future_job(launch.future));
    else
        exit_code = foreground(&launch);
    pthread_mutex_lock(&launch.lock);
    launch.over = true;
    pthread_mutex_unlock(&launch.lock);
    gw_client_close(launch.client);
    gw_future_release(launch.future); /* after closing: a detached job goes on */
    free(launch.env.items);
    return exit_code;
}
