/* Runs a command: submits it, prints its output live, and exits with its exit code. In the
 * foreground the first Ctrl-C cancels it gently, and the second at once. This process never cancels
 * a detached job. */
#include "client/cli/launch/launch.h"

#include "client/cli/launch/bulk.h"
#include "client/cli/launch/console.h"
#include "client/cli/launch/fetch.h"
#include "client/cli/launch/input.h"
#include "client/cli/launch/launch_options.h"
#include "client/cli/launch/loading.h"
#include "client/cli/launch/notify.h"
#include "client/cli/launch/patience.h"
#include "client/cli/launch/tail.h"
#include "client/cli/lib/cli.h"
#include "client/cli/lib/options.h"
#include "client/cli/lib/selector.h"
#include "client/cli/lib/table.h"
#include "graph/base/clock.h"
#include "graph/model/hostname.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { CONNECT_TIMEOUT_S = 10 };

struct launch {
    struct gw_launch_options options;
    struct gw_client *client;
    pthread_mutex_t lock; /* guards the fields below */
    struct gw_future *future;
    struct gw_bulk *bulk; /* many commands; NULL: one command, with `future` */
    int in;               /* input of the command; -1: none */
    uint64_t job;         /* 0: not submitted yet */
    char key[48];
    int interrupts;
    bool over; /* the job has ended: a signal now ends this process */
};

/* The task of --pty. The real command runs beside the task (see at_terminal). The task waits until
 * it receives the exit code of that command over a pipe, and exits with it. If the pipe cannot be
 * made, the task waits until it is cancelled. */
static const char *const holder[] = {
    "sh", "-c",
    "pipe=$(mktemp -u) && mkfifo -m 600 \"$pipe\" && exec 9<>\"$pipe\" && rm \"$pipe\" &&\n"
    "read -r code <&9 && exit \"$code\"\n"
    "exec sleep infinity",
    NULL};

/* Makes a random idempotency key, which no other submission has. */
static void make_key(struct launch *launch)
{
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return; /* without a key, the job is submitted only once */
    snprintf(launch->key, sizeof launch->key, "gangway-%016llx%016llx",
             (unsigned long long)random[0], (unsigned long long)random[1]);
    launch->options.key = launch->key;
}

/* -- Submitting ----------------------------------------------------------------------------------
 */

static int submit_one(struct launch *launch, const struct gw_bulk_after *after,
                      struct gw_error *error)
{
    const struct gw_launch_options *typed = &launch->options;
    const char **env;
    if (gw_launch_options_env(typed, &env) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    struct gw_task_options task = typed->task;
    if (typed->pty) { /* a new attempt would not have the state of the user's shell */
        task.retries = 0;
        task.worker_losses_max = UINT32_MAX;
    }
    const struct gw_command command = GW_INIT(
        gw_command, .argv = typed->pty ? holder : typed->command, .env = env, .cwd = typed->cwd,
        .env_templates = (uint32_t)typed->env.count, .epilog = typed->wrap.epilog,
        .held_output = !typed->quiet && !typed->pty, .input = launch->in >= 0);
    const char *name = typed->name || !typed->pty ? typed->name : typed->command[0];
    const struct gw_submit_options options =
        GW_INIT(gw_submit_options, .name = name, .detached = typed->detached, .key = typed->key,
                .account = typed->account, .queue = typed->queue, .after = after->jobs,
                .after_count = after->count, .after_any = after->any);
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_graph_command(graph, &command, &task);
    struct gw_future *future = NULL;
    int rc = gw_client_submit_many(launch->client, graph, &options, &node, 1, &future, error);
    pthread_mutex_lock(&launch->lock);
    launch->future = future;
    launch->job = future ? gw_future_job(future) : 0;
    pthread_mutex_unlock(&launch->lock);
    gw_graph_free(graph);
    free(env);
    return rc;
}

static int submit_many(struct launch *launch, const struct gw_bulk_after *after,
                       struct gw_error *error)
{
    int rc = gw_bulk_submit(launch->client, &launch->options, after, &launch->bulk, error);
    pthread_mutex_lock(&launch->lock);
    launch->job = rc == 0 ? gw_bulk_job(launch->bulk) : 0;
    pthread_mutex_unlock(&launch->lock);
    return rc;
}

static int submit(struct launch *launch, struct gw_error *error)
{
    const struct gw_launch_options *typed = &launch->options;
    const char *before = typed->after ? typed->after : typed->after_any;
    struct gw_bulk_after after = {.any = typed->after_any != NULL};
    struct gw_selector selector = {0};
    uint64_t *jobs = NULL;
    int rc = before ? gw_selector_init(&selector, launch->client, before, NULL, error) : 0;
    if (rc == 0 && !(jobs = calloc(selector.count + 1, sizeof *jobs)))
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; i < selector.count && rc == 0; i++)
        jobs[i] = selector.items[i].job;
    after.jobs = jobs;
    after.count = selector.count;
    if (rc == 0) {
        struct gw_loading loading;
        const bool silent = typed->quiet || typed->json;
        gw_loading_init(&loading, launch->client, typed->ship.items,
                        silent ? 0 : typed->ship.count);
        rc = gw_bulk_wanted(typed) ? submit_many(launch, &after, error)
                                   : submit_one(launch, &after, error);
        gw_loading_deinit(&loading);
    }
    if (rc == 0 && typed->notify && typed->detached &&
        (rc = gw_notify_submit(launch->client, typed, launch->job, error)) < 0 && rc != GW_ECLOSED)
        (void)gw_job_cancel(launch->client, launch->job, true, NULL);
    gw_selector_deinit(&selector);
    free(jobs);
    return rc;
}

/* Connects and submits. If the scheduler disappears before it answers, a detached job is submitted
 * again to the next scheduler; its key makes sure that it starts only once. */
static int connect_and_submit(struct launch *launch, const struct gw_client_options *options,
                              struct gw_error *error)
{
    const uint64_t timeout_ns = gw_options_connect_timeout_ns();
    const uint64_t deadline_ns =
        gw_clock_now_ns() + (timeout_ns ? timeout_ns : CONNECT_TIMEOUT_S * GW_NS_PER_S);
    if (launch->options.detached && !gw_bulk_reads_stdin(&launch->options))
        make_key(launch);
    for (;;) {
        int rc = gw_cli_connect(options, &launch->client, error);
        if (rc == 0)
            rc = submit(launch, error);
        if (rc != GW_ECLOSED || !launch->options.key || gw_clock_now_ns() >= deadline_ns)
            return rc;
        gw_client_close(launch->client);
        launch->client = NULL;
    }
}

static bool is_there(const struct gw_value *workers, const char *name, size_t bytes)
{
    static const char *const keys[] = {"name", "host", "address"};
    char said[256];
    bool bracketed = *name == '[' && bytes > 2;
    (void)snprintf(said, sizeof said, "%.*s", (int)(bytes - 2 * bracketed), name + bracketed);
    for (size_t i = 0; i < gw_value_count(workers) * 3; i++) {
        const char *text = gw_table_text(gw_value_at(workers, i / 3), keys[i % 3]);
        if (strcmp(text, said) == 0 || (i % 3 > 0 && gw_hostname_is(text, said)))
            return true;
    }
    return false;
}

/* Prints a warning if no worker or host has a preferred name. This is allowed, but probably a
 * mistake. */
static void check_preferred(const struct launch *launch)
{
    const char *name = launch->options.prefer;
    struct gw_value *workers;
    if (!name || gw_client_query(launch->client, "workers", NULL, &workers, NULL) < 0)
        return;
    for (size_t bytes; *name && gw_value_count(workers) > 0; name += bytes + (name[bytes] == ',')) {
        bytes = strcspn(name, ",");
        if (!is_there(workers, name, bytes))
            gw_cli_message(
                "gangway: --prefer %.*s: no worker or host has this name: the job may run anywhere",
                (int)bytes, name);
    }
    gw_value_unref(workers);
}

/* -- Signals -------------------------------------------------------------------------------------
 */

/* Takes the signals, which all other threads block, one after the other. */
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
        if (count > 2 || launch->over || !launch->job)
            _exit(GW_EXIT_INTERRUPTED);
        if (isatty(STDERR_FILENO))
            fputc('\n', stderr); /* after the ^C that the terminal prints */
        fprintf(stderr, count == 1 ? "gangway: interrupted: ending the job gently; press Ctrl-C "
                                     "again to end it at once\n"
                                   : "gangway: ending the job at once\n");
        gw_job_cancel(launch->client, launch->job, count > 1, NULL);
        pthread_mutex_unlock(&launch->lock);
    }
    return NULL;
}

/* Blocks the signals and starts the signal thread. Call it before any other thread is started. */
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

/* Keeps the first line of an error text, and lines of Gangway after it. Removes the last lines of
 * the task's output. */
static void drop_last_lines(char *text)
{
    static const char ours[] = "gangway: ";
    char *to = text + strcspn(text, "\n"), *line = to;
    while (*line == '\n') {
        size_t length = strcspn(line + 1, "\n") + 1;
        if (strncmp(line + 1, ours, sizeof ours - 1) == 0) {
            memmove(to, line, length);
            to += length;
        }
        line += length;
    }
    *to = '\0';
}

/* Prints how the task ended and returns the exit code. `shown`: the output was printed here, so the
 * last lines of an ordinary task are not repeated. For a gang they are: other ranks may have
 * printed after the rank that failed first. */
static int finish(struct launch *launch, bool shown)
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
    if (rc < 0 && shown && launch->options.task.ranks == 0 && !launch->options.json)
        drop_last_lines(error.text);
    if (launch->options.json)
        gw_cli_print_end(gw_future_job(launch->future), exit_code, &error);
    else if (rc < 0)
        gw_cli_print_failure(gw_future_job(launch->future), &error);
    return exit_code;
}

static int foreground_many(struct launch *launch)
{
    int exit_code = gw_bulk_run(launch->bulk);
    pthread_mutex_lock(&launch->lock);
    bool interrupted = launch->interrupts > 0;
    pthread_mutex_unlock(&launch->lock);
    return interrupted && exit_code ? GW_EXIT_INTERRUPTED : exit_code;
}

static int foreground(struct launch *launch)
{
    struct gw_tail *stream = NULL;
    struct gw_input *input = NULL;
    struct gw_error error;
    const struct gw_tail_options options = {
        .client = launch->client,
        .job = gw_future_job(launch->future),
        .ranks = launch->options.task.ranks,
        .rank = -1,
        .out = true,
        .err = true,
        .follow = true,
        .json = launch->options.json,
        .holds = true,
        .future = launch->future,
    };
    if ((!launch->options.quiet && gw_tail_open(&options, &stream) < 0) ||
        (launch->in >= 0 &&
         gw_input_open(launch->client, launch->future, launch->in, &input) < 0)) {
        gw_cli_message("gangway: this command is out of memory, so it cancels the job");
        (void)gw_job_cancel(launch->client, launch->job, true, NULL);
    }
    gw_future_wait(launch->future, UINT64_MAX);
    bool lost = gw_input_close(input), cut = gw_tail_close(stream, &error) < 0;
    int exit_code = finish(launch, !launch->options.quiet && !cut);
    if (lost)
        exit_code = GW_EXIT_FAILED;
    if (cut && exit_code == 0) /* no other message mentions it */
        gw_cli_message("gangway: the output shown is incomplete: %s", error.text);
    return exit_code;
}

/* Sends the exit code to the task of --pty, which may not be ready yet. Returns false if that
 * failed. */
static bool end_holder(struct launch *launch, int exit_code)
{
    char code[16];
    snprintf(code, sizeof code, "%d", exit_code);
    const char *const teller[] = {"sh",
                                  "-c",
                                  "for i in 1 2 3 4 5 6 7 8 9; do\n"
                                  "  [ ! -p /proc/$1/fd/9 ] || break\n"
                                  "  sleep 0.$i\n"
                                  "done\n"
                                  "[ -p /proc/$1/fd/9 ] && echo $2 >/proc/$1/fd/9",
                                  "sh",
                                  "{pid}",
                                  code,
                                  NULL};
    const struct gw_console_options console = {.client = launch->client,
                                               .task = {.job = launch->job},
                                               .argv = teller,
                                               .in = -1,
                                               .out = STDERR_FILENO};
    int told = 0, rc = gw_cli_console_run(&console, &told, NULL);
    return rc == 0 ? told == 0
                   : rc == GW_ECLOSED || rc == GW_ENOENT; /* the task has ended meanwhile */
}

/* Runs the command of --pty at this terminal, beside a task that holds its slots and resources. The
 * task ends after the command. */
static int at_terminal(struct launch *launch)
{
    const struct gw_console_options console = {
        .client = launch->client,
        .task = {.job = launch->job},
        .argv = launch->options.command,
        .terminal = true,
        .wait = true,
        .in = STDIN_FILENO,
        .out = STDOUT_FILENO,
    };
    struct gw_error error;
    int exit_code = 0, rc = gw_cli_console_run(&console, &exit_code, &error);
    if (rc == 0 || rc == GW_ESTART) {
        if (rc < 0)
            exit_code = gw_cli_error(&error);
        if (!end_holder(launch, exit_code))
            (void)gw_job_cancel(launch->client, launch->job, true, NULL);
        (void)gw_future_wait(launch->future, UINT64_MAX);
        return exit_code;
    }
    if (rc == GW_ECLOSED && gw_future_state(launch->future) == GW_PENDING)
        return gw_cli_error(&error);   /* the scheduler has disappeared */
    exit_code = finish(launch, false); /* prints why the task ended */
    return exit_code ? exit_code : GW_EXIT_FAILED;
}

/* -- The checkpoint -----------------------------------------------------------------------------
 */

/* Fetches the checkpoint of a task. The folder is made only if there is a checkpoint. */
static int bring(const struct launch *launch, const struct gw_selected_task *task, const char *into,
                 struct gw_error *error)
{
    const uint32_t ranks = launch->bulk ? UINT32_MAX : launch->options.task.ranks;
    if (ranks <= 1 || launch->bulk) {
        int rc = gw_fetch_find_checkpoint(launch->client, task, error);
        if (rc < 0)
            return rc;
    }
    return gw_fetch_checkpoint(launch->client, task, ranks, into, error);
}

enum {
    ASKED_MAX = 16
}; /* without --checkpoint-dir, only this many tasks are asked for a checkpoint */

/* Fetches the checkpoints before the job ends, because the cluster then removes them, or prints
 * that they will be lost. Returns the exit code. */
static int checkpoint_exit_code(const struct launch *launch, int exit_code)
{
    const struct gw_launch_options *typed = &launch->options;
    const size_t tasks = launch->bulk ? gw_bulk_tasks(launch->bulk) : 1;
    struct gw_selected_task task = {.job = launch->job};
    struct gw_error error = {0};
    char into[PATH_MAX];
    size_t brought = 0, failed = 0;
    for (; task.index < tasks && !typed->checkpoint_dir && task.index < ASKED_MAX; task.index++) {
        if (gw_fetch_find_checkpoint(launch->client, &task, NULL) < 0)
            continue;
        if (!typed->json)
            gw_cli_message("gangway: job %llu saved a checkpoint, which is deleted with the job: "
                           "--checkpoint-dir DIR copies it here (of a detached job it stays: "
                           "`gangway get JOB --checkpoint`)",
                           (unsigned long long)launch->job);
        return exit_code;
    }
    for (; task.index < tasks && typed->checkpoint_dir; task.index++) {
        int length = launch->bulk ? snprintf(into, sizeof into, "%s/%" PRIu32,
                                             typed->checkpoint_dir, task.index)
                                  : snprintf(into, sizeof into, "%s", typed->checkpoint_dir);
        int rc = length >= (int)sizeof into
                     ? gw_error_set(&error, GW_EINVAL,
                                    "the path of that folder is longer than %d bytes", PATH_MAX - 1)
                     : bring(launch, &task, into, &error);
        brought += rc == 0;
        if (rc == 0 || rc == GW_ENOENT)
            continue;
        failed++;
        gw_cli_message("gangway: the checkpoint of task %" PRIu32 " is not in %s: %s", task.index,
                       into, error.text);
        exit_code = exit_code ? exit_code : GW_EXIT_FAILED;
    }
    if (typed->checkpoint_dir && (brought || !failed) && !typed->json && !typed->quiet)
        gw_cli_message(brought ? "gangway: the checkpoint is in %s"
                               : "gangway: the job saved no checkpoint: its GANGWAY_CHECKPOINT_DIR "
                                 "has no files for %s",
                       typed->checkpoint_dir);
    return exit_code;
}

/* Attends an attached job until its end. Returns the exit code. */
static int attend(struct launch *launch)
{
    const struct gw_launch_options *typed = &launch->options;
    struct gw_patience patience;
    bool told = !typed->quiet && !typed->json;
    if (told)
        gw_patience_init(&patience, launch->client, launch->job, typed->pty);
    int exit_code = launch->bulk ? foreground_many(launch)
                    : typed->pty ? at_terminal(launch)
                                 : foreground(launch);
    if (told)
        gw_patience_deinit(&patience);
    exit_code = checkpoint_exit_code(launch, exit_code);
    if (typed->notify) {
        gw_notify_set(launch->client, launch->job, NULL);
        gw_notify_run(typed->notify);
    }
    return exit_code;
}

int gw_launch_main(bool gang, int argc, char **argv)
{
    static struct launch launch = {
        .lock = PTHREAD_MUTEX_INITIALIZER}; /* static, because the signal thread may outlive this
                                               function */
    struct gw_error error;
    int exit_code;
    const struct gw_launch_options *typed = &launch.options;
    if (!gw_launch_options_init(&launch.options, gang, argc, argv, &exit_code))
        return exit_code;
    launch.in = -1;
    if (!typed->detached && !typed->pty && !gw_bulk_wanted(typed) &&
        gw_input_find(typed->in, &launch.in, &error) < 0) {
        gw_launch_options_deinit(&launch.options);
        return gw_cli_error(&error);
    }
    const struct gw_client_options options =
        GW_INIT(gw_client_options, .name = gw_cli_session_name(), .must_exist = typed->detached,
                .no_reconnect = true);
    if (typed->pty)
        gw_cli_console_block(false);
    if (!typed->detached)
        take_signals(&launch);
    int rc = connect_and_submit(&launch, &options, &error);
    const char *address = getenv("GANGWAY_ADDRESS");
    if (rc == GW_ENOSCHEDULER && typed->detached && !(address && *address) &&
        strncmp(error.text, "no cluster", 10) == 0)
        gw_error_set(&error, rc,
                     "no cluster is running for a detached job: `gangway up` starts one");
    if (rc == 0)
        check_preferred(&launch);
    if (rc < 0)
        exit_code = gw_cli_error(&error);
    else if (typed->detached)
        printf(typed->json ? "{\"job\":%llu}\n" : "%llu\n", (unsigned long long)launch.job);
    else
        exit_code = attend(&launch);
    pthread_mutex_lock(&launch.lock);
    launch.over = true;
    pthread_mutex_unlock(&launch.lock);
    if (launch.bulk && !typed->detached)
        gw_bulk_free(launch.bulk);
    gw_client_close(launch.client);
    if (launch.bulk && typed->detached)
        gw_bulk_free(launch.bulk); /* after closing, so that the detached job is not cancelled */
    gw_future_release(launch.future);
    if (launch.in >= 0)
        close(launch.in);
    gw_launch_options_deinit(&launch.options);
    return exit_code;
}
