/* The command of an attached job runs beside its client. That of a detached job runs on a worker,
 * as the user of the job, and never on the scheduler's machine. On the worker, the internal command
 * `gangway notify` asks how the job has ended, and starts the command. */
#include "client/cli/launch/notify.h"

#include "client/cli/lib/cli.h"
#include "client/cli/lib/table.h"
#include "graph/base/clock.h"

#include <gangway/gangway.h>

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIME_LIMIT_NS (600 * GW_NS_PER_S)
/* The end of a job is shown when it is stored. The job that follows it may start before. */
#define STORED_NS (60 * GW_NS_PER_S)

int gw_notify_submit(struct gw_client *client, const struct gw_launch_options *options,
                     uint64_t job, struct gw_error *error)
{
    static const char script[] = "exec \"$GANGWAY_BINARY_DIR/gangway\" notify \"$0\" \"$1\"";
    char number[24], name[40], key[64];
    const char *const argv[] = {"sh", "-c", script, number, options->notify, NULL};
    const char **env;
    if (gw_launch_options_env(options, &env) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)job);
    (void)snprintf(name, sizeof name, "notify-%s", number);
    (void)snprintf(key, sizeof key, "%.48s-notify", options->key ? options->key : "");
    const struct gw_command command =
        GW_INIT(gw_command, .argv = argv, .env = env, .cwd = options->cwd,
                .env_templates = (uint32_t)options->env.count);
    const struct gw_task_options task =
        GW_INIT(gw_task_options, .slots = GW_NONE, .time_limit_ns = TIME_LIMIT_NS);
    const struct gw_submit_options submit =
        GW_INIT(gw_submit_options, .name = name, .detached = true, .key = options->key ? key : NULL,
                .account = options->account, .queue = options->queue, .after = &job,
                .after_count = 1, .after_any = true);
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_graph_command(graph, &command, &task);
    struct gw_future *future = NULL;
    int rc = gw_client_submit_many(client, graph, &submit, &node, 1, &future, error);
    gw_future_release(future);
    gw_graph_free(graph);
    free(env);
    return rc < 0 ? gw_error_prefix(error, "--notify") : 0;
}

static bool has_ended(const char *state)
{
    return strcmp(state, "done") == 0 || strcmp(state, "failed") == 0 ||
           strcmp(state, "cancelled") == 0;
}

void gw_notify_set(struct gw_client *client, uint64_t job, const struct gw_error *why)
{
    struct gw_value *answer = NULL, *arguments = gw_dict();
    struct gw_error error;
    char number[24];
    int exit_code, rc = gw_dict_set(arguments, "job", gw_i64((int64_t)job));
    if (rc < 0)
        rc = gw_error_set(&error, rc, "out of memory");
    else if (!client)
        rc = gw_error_set(&error, why->code, "%s", why->text);
    if (rc == 0) {
        (void)gw_job_wait(client, job, STORED_NS, &exit_code, &error); /* the job may have failed */
        rc = gw_client_query(client, "job", arguments, &answer, &error);
    }
    if (rc == 0 && !has_ended(gw_table_text(answer, "state")))
        rc = gw_error_set(&error, GW_ETIMEDOUT, "its end was not stored within 60 s");
    if (rc < 0)
        gw_cli_message("gangway: --notify: it is unknown how job %llu has ended: %s",
                       (unsigned long long)job, error.text);
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)job);
    (void)setenv("GANGWAY_JOB", number, 1);
    (void)setenv("GANGWAY_OUTCOME", rc == 0 ? gw_table_text(answer, "state") : "unknown", 1);
    gw_value_unref(answer);
    gw_value_unref(arguments);
}

void gw_notify_run(const char *command)
{
    char shell[] = "sh", option[] = "-c", *words = strdup(command);
    char *argv[] = {shell, option, words, NULL};
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid;
    int status = 0;
    sigemptyset(&none); /* this process blocks the signals that a thread takes */
    int rc = words ? posix_spawnattr_init(&attributes) : ENOMEM;
    if (rc == 0) {
        (void)posix_spawnattr_setsigmask(&attributes, &none);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        rc = posix_spawn(&pid, "/bin/sh", NULL, &attributes, argv, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    if (rc != 0)
        gw_cli_message("gangway: --notify: cannot start /bin/sh: %s", strerror(rc));
    else if (waitpid(pid, &status, 0) == pid && status != 0)
        gw_cli_message("gangway: --notify: the command failed (%s %d)",
                       WIFEXITED(status) ? "exit code" : "signal",
                       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    free(words);
}
