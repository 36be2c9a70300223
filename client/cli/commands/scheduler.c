/* `gangway scheduler`: the daemon in the foreground, for service managers. `gangway up` starts it
 * in the background and waits until it reports on --ready-fd that it is ready. */
#include "client/cli/commands/commands.h"

#include "scheduler/net/daemon.h"

#include "client/cli/hosts/daemon_options.h"
#include "client/cli/hosts/policy_file.h"
#include "client/cli/hosts/scheduler_options.h"
#include "client/cli/lib/config_file.h"
#include "client/deploy/address.h"
#include "client/deploy/argv.h"

#include <stdint.h>
#include <string.h>

struct typed {
    const char *dir;
    uint32_t workers;
    struct gw_scheduler_options scheduler;
    struct gw_daemon_options daemon;
};

/* Appends an option unless its number is 0; then the daemon's default applies. */
static void add_given(struct gw_argv *argv, const char *option, uint64_t number)
{
    if (number)
        gw_argv_add_number(argv, option, number);
}

static int start(struct typed *typed)
{
    const struct gw_scheduler_options *scheduler = &typed->scheduler;
    char dir[PATH_MAX];
    struct gw_argv argv = {0};
    struct gw_error error;
    if (!typed->dir && gw_address_default_dir(dir, &error) < 0)
        return gw_cli_error(&error);
    gw_argv_add(&argv, "scheduler");
    gw_argv_add_text(&argv, "--dir", typed->dir ? typed->dir : dir);
    if (!typed->dir)
        gw_argv_add(&argv, "--default");
    gw_daemon_options_add(&typed->daemon, &argv);
    gw_argv_add_text(&argv, "--listen", scheduler->listen);
    gw_argv_add_text(&argv, "--tokens", scheduler->tokens);
    gw_argv_add_text(&argv, "--state", scheduler->state);
    gw_argv_add_text(&argv, "--audit", scheduler->audit);
    add_given(&argv, "--audit-max", scheduler->audit_bytes_max);
    if (scheduler->accept_loss)
        gw_argv_add(&argv, "--accept-loss");
    gw_argv_add_number(&argv, "--workers", typed->workers);
    add_given(&argv, "--idle-stop", gw_scheduler_options_idle_stop_s(scheduler));
    add_given(&argv, "--scatter-memory", scheduler->scatter_memory_bytes);
    add_given(&argv, "--pure-keep", scheduler->pure_bytes_max);
    add_given(&argv, "--history", scheduler->history_jobs);
    gw_argv_add_text(&argv, "--accounting", scheduler->accounting);
    add_given(&argv, "--accounting-retention", gw_scheduler_options_retention_ns(scheduler));
    /* the cast is safe: getopt reorders the words and does not change them */
    return gw_daemon_main(argv.count, (char **)(uintptr_t)argv.words);
}

/* Whether `up` or a client has started this process, with options of the daemon itself. */
static bool is_started(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--ready-fd") == 0)
            return true;
    return false;
}

/* Checks the policy in the configuration file, if one was read. */
static int check_policy(struct gw_error *error)
{
    struct gw_policy_file *policy;
    struct gw_config_file *file = gw_options_file();
    int rc = file ? gw_policy_file_read(file, &policy, error) : 0;
    if (file && rc == 0)
        gw_policy_file_free(policy);
    return rc;
}

/* Reads the command line and the configuration file, and checks the values. Returns the exit code,
 * with *runs false if the scheduler does not start. */
static int read(struct typed *typed, int argc, char **argv, bool *runs)
{
    static const char *const not_in_file[] = {"accept-loss", NULL};
    struct gw_error error;
    int first, exit_code;
    const struct gw_option table[] = {
        GW_OPTION_TABLE(gw_scheduler_options_table(&typed->scheduler)),
        {"dir", 0, GW_OPTION_TEXT, &typed->dir, "DIR",
         "folder of the socket and files; made with access\n"
         "for this user only (default: the folder in which\n"
         "this user's programs look)"},
        {"workers", 0, GW_OPTION_U32, &typed->workers, "K",
         "workers to start on this machine\n(default: 0; see `gangway worker --help`)"},
        {"slots", 0, GW_OPTION_COUNT, &typed->daemon.slots, "N",
         "slots of these workers in all (default: the\n"
         "number of cores)"},
        {"resources", 0, GW_OPTION_TEXT, &typed->daemon.resources, "NAME=N,...",
         "resources that the first of these workers offers,\n"
         "like license=1,tape=2"},
        {"peers", 0, GW_OPTION_TEXT, &typed->daemon.peers, "HOST",
         "the workers exchange results over TLS at this\n"
         "address (default: they pass descriptors)"},
        GW_OPTION_TABLE(gw_daemon_options_table(&typed->daemon)),
        {0},
    };
    const struct gw_options options = {
        .command = "scheduler",
        .arguments = "",
        .summary =
            "Run a scheduler in the foreground, for service managers. `gangway up` starts\n"
            "one in the background, with a worker. SIGTERM and SIGINT end this process: the\n"
            "workers continue their work, and the next scheduler takes it over. `gangway\n"
            "down` ends the cluster.",
        .table = table,
        .group = "scheduler",
        .not_in_file = not_in_file,
    };
    *runs = gw_options_parse(&options, argc, argv, &first, &exit_code);
    if (*runs && check_policy(&error) < 0) {
        *runs = false;
        return gw_options_refuse(argv[0], &error);
    }
    if (*runs && (gw_cli_check_folder("--state", typed->scheduler.state, &error) < 0 ||
                  gw_cli_check_folder("--dir", typed->dir, &error) < 0 ||
                  gw_daemon_options_read(&typed->daemon, &error) < 0)) {
        *runs = false;
        return gw_options_refuse(argv[0], &error);
    }
    return exit_code;
}

/* The options that a running scheduler has read from its configuration file. */
struct configuration {
    const struct typed *typed;
    struct gw_config_file *file;
    struct gw_policy_file *policy;
};

static int read_again(void *arg, struct gw_daemon_config *config, struct gw_error *error)
{
    static const char *const live[] = {"idle-stop",      "log-max",   "history",
                                       "pure-keep",      "audit-max", "accounting-retention",
                                       "scatter-memory", NULL};
    struct configuration *configuration = arg;
    struct configuration fresh = {.typed = configuration->typed};
    const struct gw_scheduler_options *scheduler = &fresh.typed->scheduler;
    int rc = gw_options_reread(&fresh.file, error);
    if (rc == 0)
        rc = gw_policy_file_read(fresh.file, &fresh.policy, error);
    if (rc < 0) {
        gw_config_file_close(fresh.file);
        return rc;
    }
    *config = (struct gw_daemon_config){
        .policy = fresh.policy->policy.account_count ? &fresh.policy->policy : NULL,
        .idle_stop_s = gw_scheduler_options_idle_stop_s(scheduler),
        .log_max_bytes = fresh.typed->daemon.log_max_bytes,
        .history_jobs = scheduler->history_jobs,
        .pure_bytes_max = scheduler->pure_bytes_max,
        .scatter_memory_bytes = scheduler->scatter_memory_bytes,
        .audit_bytes_max = scheduler->audit_bytes_max,
        .accounting_retention_ns = gw_scheduler_options_retention_ns(scheduler),
    };
    gw_options_changed(live, fresh.file, config->restart, sizeof config->restart);
    gw_policy_file_free(configuration->policy);
    gw_config_file_close(configuration->file);
    *configuration = fresh;
    return 0;
}

int gw_cli_scheduler_config(const char *path, struct gw_value *rows)
{
    struct typed typed = {.daemon.orphan_ns = UINT64_MAX};
    char command[] = "config", option[] = "--config";
    bool runs;
    int exit_code =
        read(&typed, 3, (char *[]){command, option, (char *)(uintptr_t)path, NULL}, &runs);
    return runs && gw_options_values(rows) < 0 ? GW_EXIT_FAILED : exit_code;
}

int gw_cli_scheduler(int argc, char **argv)
{
    struct typed typed = {.daemon.orphan_ns = UINT64_MAX};
    bool runs;
    if (is_started(argc, argv))
        return gw_daemon_main(argc, argv);
    int exit_code = read(&typed, argc, argv, &runs);
    if (!runs)
        return exit_code;
    struct configuration configuration = {.typed = &typed};
    if (gw_options_file())
        gw_daemon_configure(read_again, &configuration);
    exit_code = start(&typed);
    gw_policy_file_free(configuration.policy);
    gw_config_file_close(configuration.file);
    return exit_code;
}
