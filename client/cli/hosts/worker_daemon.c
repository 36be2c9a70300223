/* The worker daemon in the foreground, or in the background for `gangway up --hosts`. A worker of a
 * scheduler on another machine has a folder of its own, whose name contains the address. A worker
 * of this user's cluster on this machine uses the folder of the cluster. */
#include "client/cli/hosts/worker_daemon.h"

#include "client/cli/hosts/daemon_options.h"
#include "client/cli/hosts/daemonize.h"
#include "client/cli/hosts/health_options.h"
#include "client/cli/hosts/stale_dirs.h"
#include "client/cli/lib/cli.h"
#include "client/cli/lib/config_file.h"
#include "client/deploy/address.h"
#include "client/deploy/argv.h"
#include "graph/base/dir.h"
#include "graph/base/disk_kind.h"
#include "graph/base/user_dir.h"
#include "graph/wire/endpoint.h"
#include "worker/net/worker.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { SLOTS_MAX = 4096 };

struct typed {
    const char *connect, *dir, *name, *cgroup;
    struct gw_daemon_options daemon;
    struct gw_health_options health;
    bool background, separate_users;
};

/* Returns the parent of the folders of workers. It should survive a reboot, so it is the user's
 * state folder. If that is on a network file system, it is the runtime folder, because tasks should
 * not write to a network file system. */
static int make_parent(char dir[PATH_MAX], struct gw_error *error)
{
    if (gw_user_dir_state(dir, NULL) == 0 && gw_disk_kind_of(dir) == GW_DISK_LOCAL &&
        gw_dir_make(dir, NULL) == 0)
        return 0;
    return gw_user_dir_runtime(dir, error);
}

/* Makes the folder of this worker. Its name contains the address of the scheduler, because workers
 * of different schedulers must not share a folder. */
static int make_dir(const char *connect, char dir[PATH_MAX], struct gw_error *error)
{
    int rc = make_parent(dir, error);
    if (rc < 0)
        return rc;
    size_t length = strlen(dir);
    (void)snprintf(dir + length, PATH_MAX - length, "/at-%.100s", connect);
    for (char *c = dir + length + 1; *c; c++)
        if (!strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-", *c))
            *c = '_';
    rc = gw_dir_make(dir, error);
    dir[length] = '\0';
    gw_stale_dirs_tidy(dir, "at-", dir + length + 1);
    dir[length] = '/';
    return rc;
}

/* Where a worker finds its scheduler, and the folder of the worker. */
struct place {
    char address[GW_ADDRESS_TCP_MAX], dir[PATH_MAX];
};

/* Uses the cluster whose socket is at a path, if its scheduler answers: the worker then has the
 * folder of the cluster. */
static int use_socket(struct typed *typed, const char *path, struct place *place,
                      struct gw_error *error)
{
    int fd, rc = gw_address_connect(path, &fd, error);
    if (rc < 0)
        return rc;
    close(fd);
    (void)snprintf(place->dir, sizeof place->dir, "%.*s", (int)(strrchr(path, '/') - path), path);
    typed->dir = place->dir;
    return 0;
}

static int use_address(struct typed *typed, const char *address, struct place *place,
                       struct gw_error *error)
{
    const char *at;
    bool tcp;
    int rc = gw_address_parse(address, &at, &tcp, error);
    if (rc == 0 && !tcp)
        return use_socket(typed, at, place, error);
    if (rc == 0 && (rc = gw_endpoint_check(at, error)) == 0)
        typed->connect = at;
    return rc;
}

/* Finds the scheduler of a worker without --connect, in the order of other programs: the address in
 * GANGWAY_ADDRESS, this user's cluster on this machine, the address in a file. */
static int find_scheduler(struct typed *typed, struct place *place, struct gw_error *error)
{
    const char *address = getenv("GANGWAY_ADDRESS");
    char path[PATH_MAX];
    if (address && *address)
        return use_address(typed, address, place, error);
    int rc = 0;
    if (!typed->dir)
        rc = gw_address_default_socket(path, error);
    else
        (void)snprintf(path, sizeof path, "%.*s/%s", PATH_MAX - 32, typed->dir, GW_ADDRESS_SOCKET);
    if (rc == 0)
        rc = use_socket(typed, path, place, error);
    if (rc != GW_ENOSCHEDULER)
        return rc;
    rc = gw_address_read_default(place->address, error);
    if (rc != GW_ENOENT)
        return rc < 0 ? rc : use_address(typed, place->address, place, error);
    return gw_error_set(error, GW_ENOSCHEDULER,
                        "no scheduler answers at unix:%s: start it by `gangway scheduler`, or give "
                        "the address of one on another machine by --connect HOST:PORT",
                        path);
}

static int start(struct typed *typed)
{
    struct place place;
    struct gw_argv argv = {0};
    struct gw_error error;
    if (!typed->connect && find_scheduler(typed, &place, &error) < 0)
        return gw_cli_error(&error);
    if (typed->dir ? access(typed->dir, F_OK) < 0 && gw_dir_make(typed->dir, &error) < 0
                   : make_dir(typed->connect, place.dir, &error) < 0)
        return gw_cli_error(&error);
    if (!typed->dir)
        typed->dir = place.dir;
    gw_argv_add(&argv, "worker");
    gw_argv_add_text(&argv, "--dir", typed->dir);
    gw_argv_add_text(&argv, "--connect", typed->connect);
    gw_argv_add_text(&argv, "--name", typed->name);
    gw_daemon_options_add(&typed->daemon, &argv);
    if (typed->separate_users)
        gw_argv_add(&argv, "--separate-users");
    if (gw_health_options_program(&typed->health, &error) < 0)
        return gw_options_refuse("worker", &error);
    gw_health_options_add(&typed->health, &argv);
    gw_argv_add_text(&argv, "--cgroup", typed->cgroup);
    /* the cast is safe: getopt reorders the words and does not change them */
    char **words = (char **)(uintptr_t)argv.words;
    const struct gw_daemonize_options background = {typed->dir, typed->name, typed->daemon.slots};
    return typed->background ? gw_daemonize_run(argv.count, words, &background)
                             : gw_worker_main(argv.count, words);
}

/* Checks that this user can make cgroups in a folder. */
static int check_cgroup(const char *folder, struct gw_error *error)
{
    char path[PATH_MAX];
    struct statfs system;
    if (*folder != '/' || statfs(folder, &system) < 0 || system.f_type != CGROUP2_SUPER_MAGIC)
        return gw_error_set(error, GW_EINVAL,
                            "--cgroup %s is not the absolute path of a cgroup of version 2: give "
                            "one below /sys/fs/cgroup",
                            folder);
    (void)snprintf(path, sizeof path, "%.*s/check-%d", PATH_MAX - 32, folder, (int)getpid());
    if (mkdir(path, 0755) < 0 || rmdir(path) < 0)
        return gw_error_set(error, GW_EPERM,
                            "--cgroup %s: cannot make a cgroup there (%s): give one that this user "
                            "owns, for example that of its own service, with Delegate=yes",
                            folder, strerror(errno));
    return 0;
}

/* Checks the values of options. */
static int check(struct typed *typed, struct gw_error *error)
{
    if (typed->connect && gw_endpoint_check(typed->connect, error) < 0)
        return gw_error_prefix(error, "--connect");
    if (typed->daemon.slots > SLOTS_MAX)
        return gw_error_set(error, GW_EINVAL, "--slots %u: must be 1 to %d", typed->daemon.slots,
                            SLOTS_MAX);
    if (typed->background && !typed->connect)
        return gw_error_set(error, GW_EINVAL, "--background needs --connect HOST:PORT");
    int rc = gw_health_options_check(&typed->health, error);
    if (rc == 0 && typed->cgroup && typed->separate_users)
        rc = gw_error_set(error, GW_EINVAL,
                          "--cgroup is for a worker without --separate-users: give it to "
                          "gangway-launcher instead");
    else if (rc == 0 && typed->cgroup)
        rc = check_cgroup(typed->cgroup, error);
    return rc < 0 ? rc : gw_daemon_options_read(&typed->daemon, error);
}

/* What a running worker has read of its configuration file. */
struct configuration {
    struct typed *typed;
    struct gw_config_file *file;
    struct gw_argv argv;
};

static int read_again(void *arg, struct gw_worker_config *config, struct gw_error *error)
{
    static const char *const live[] = {"health-check", "health-interval",  "health-timeout",
                                       "log-max",      "memory-target",    "memory-spill",
                                       "memory-pause", "memory-terminate", NULL};
    struct configuration *configuration = arg;
    struct typed *typed = configuration->typed;
    struct gw_config_file *fresh;
    int rc = gw_options_reread(&fresh, error);
    if (rc < 0)
        return rc;
    rc = check(typed, error);
    if (rc == 0)
        rc = gw_health_options_program(&typed->health, error);
    if (rc < 0) {
        gw_config_file_close(fresh);
        return rc;
    }
    gw_config_file_close(configuration->file);
    configuration->file = fresh;
    configuration->argv = (struct gw_argv){0};
    gw_argv_add(&configuration->argv, "worker");
    gw_argv_add_text(&configuration->argv, "--dir", "/");
    gw_argv_add_text(&configuration->argv, "--memory", typed->daemon.memory_text);
    if (typed->daemon.log_max_bytes)
        gw_argv_add_number(&configuration->argv, "--log-max", typed->daemon.log_max_bytes);
    gw_health_options_add(&typed->health, &configuration->argv);
    gw_options_changed(live, fresh, config->restart, sizeof config->restart);
    config->argc = configuration->argv.count;
    /* the cast is safe: getopt reorders the words and does not change them */
    config->argv = (char **)(uintptr_t)configuration->argv.words;
    return 0;
}

/* Reads the command line and the configuration file, and checks the values. Returns the exit code,
 * with *runs false if the worker does not start. */
static int read_options(struct typed *typed, int argc, char **argv,
                        const struct gw_cli_command *verbs, bool *runs)
{
    static const char *const not_in_file[] = {"background", NULL};
    struct gw_error error;
    int first, exit_code;
    const struct gw_option table[] = {
        {"connect", 0, GW_OPTION_TEXT, &typed->connect, "HOST:PORT",
         "address of the scheduler (`gangway up --listen`\n"
         "prints it; default: this user's cluster on this\n"
         "machine, or that in ~/.config/gangway/address or\n"
         "/etc/gangway/address)"},
        {"slots", 0, GW_OPTION_COUNT, &typed->daemon.slots, "N",
         "number of tasks that run here at the same time\n"
         "(default: the number of cores)"},
        {"name", 0, GW_OPTION_TEXT, &typed->name, "NAME",
         "name of this worker in lists and for `--on`\n"
         "(default: the host's name)"},
        {"resources", 0, GW_OPTION_TEXT, &typed->daemon.resources, "NAME=N,...",
         "resources that this worker offers, like\n"
         "license=1,tape=2"},
        {"peers", 0, GW_OPTION_TEXT, &typed->daemon.peers, "HOST[:PORT]",
         "address at which other workers connect to this\n"
         "one (default: the one from which it connects to\n"
         "the scheduler)"},
        GW_OPTION_TABLE(gw_daemon_options_table(&typed->daemon)),
        {"dir", 0, GW_OPTION_TEXT, &typed->dir, "DIR",
         "folder of its files; made if it does not exist;\n"
         "for a cluster on this machine, the --dir of its\n"
         "scheduler (default: at-HOST_PORT in\n"
         "~/.local/state/gangway/HOSTNAME; if that is a\n"
         "network disk, in $XDG_RUNTIME_DIR/gangway;\n"
         "folders of other addresses are removed after 7\n"
         "days without a worker)"},
        {"separate-users", 0, GW_OPTION_FLAG, &typed->separate_users, NULL,
         "run the tasks of each user as a Unix user, by\n"
         "gangway-launcher (docs/howto/separate-users.md)"},
        GW_OPTION_TABLE(gw_health_options_table(&typed->health)),
        {"cgroup", 0, GW_OPTION_TEXT, &typed->cgroup, "DIR",
         "run each task in a cgroup of its own in this cgroup\n"
         "of version 2, with limits of memory, CPUs and\n"
         "processes (docs/howto/separate-users.md)"},
        {"background", 0, GW_OPTION_FLAG, &typed->background, NULL,
         "run in the background: return when the scheduler\n"
         "has registered the worker; the token is the first\n"
         "line of stdin, which must stay open until then"},
        {0},
    };
    const struct gw_options options = {
        .command = "worker",
        .arguments = "",
        .summary =
            "List this cluster's workers (`worker list`), or run a worker in the foreground:\n"
            "of this user's cluster on this machine, or, with --connect, of another one.",
        .details =
            "With TCP, the worker needs a token of the role worker: $GANGWAY_TOKEN, or the\n"
            "one of `gangway token store`. SIGTERM ends the worker: its running tasks have\n"
            "their grace time, at most 60 s, and run again elsewhere, which does not count\n"
            "against their retry budget. Then the worker stays up to 60 s until other workers\n"
            "have copied checkpoints that only it has. A second SIGTERM ends it in half a\n"
            "second. While the worker cannot reach the scheduler, it tries again.",
        .table = table,
        .verbs = verbs,
        .group = "worker",
        .not_in_file = not_in_file,
    };
    *runs = gw_options_parse(&options, argc, argv, &first, &exit_code);
    if (*runs && check(typed, &error) < 0) {
        *runs = false;
        return gw_options_refuse(argv[0], &error);
    }
    return exit_code;
}

int gw_worker_daemon_config(const char *path, struct gw_value *rows)
{
    struct typed typed = {.daemon.orphan_ns = UINT64_MAX};
    char command[] = "config", option[] = "--config";
    bool runs;
    const int exit_code = read_options(
        &typed, 3, (char *[]){command, option, (char *)(uintptr_t)path, NULL}, NULL, &runs);
    return runs && gw_options_values(rows) < 0 ? GW_EXIT_FAILED : exit_code;
}

int gw_worker_daemon_run(int argc, char **argv, const struct gw_cli_command *verbs)
{
    struct typed typed = {.daemon.orphan_ns = UINT64_MAX};
    bool runs;
    int exit_code = read_options(&typed, argc, argv, verbs, &runs);
    if (!runs)
        return exit_code;
    struct configuration configuration = {.typed = &typed};
    if (gw_options_file())
        gw_worker_configure(read_again, &configuration);
    exit_code = start(&typed);
    gw_config_file_close(configuration.file);
    return exit_code;
}
