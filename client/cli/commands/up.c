/* `gangway up` starts this user's cluster on this machine, and workers of it on other machines. */
#include "client/cli/commands/commands.h"

#include "client/cli/hosts/daemon_options.h"
#include "client/cli/hosts/host_file.h"
#include "client/cli/hosts/scheduler_options.h"
#include "client/cli/hosts/ssh_launch.h"
#include "client/cli/lib/options.h"
#include "client/cli/lib/synonym.h"
#include "client/cli/lib/table.h"
#include "client/deploy/address.h"
#include "client/deploy/identity.h"
#include "client/services/shutdown.h"
#include "client/shared_cluster.h"
#include "graph/base/clock.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/token_file.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define REGISTER_NS (5 * GW_NS_PER_S)
enum { REGISTER_POLL_US = 2000, OWN_BYTES = PATH_MAX + 32 };

/* Checks --peers here, because the workers would report an error only in their logs. */
static int check_peers(const char *peers, uint32_t workers, struct gw_error *error)
{
    char actual[GW_ENDPOINT_TEXT_MAX];
    int fds[2] = {-1, -1};
    if (strchr(peers, '/'))
        return gw_error_set(error, GW_EINVAL,
                            "--peers %s: give an address of this host, with or without :PORT",
                            peers);
    int rc = gw_endpoint_listen(peers, &fds[0], actual, error);
    if (rc == 0 && workers > 1 && (rc = gw_endpoint_listen(peers, &fds[1], actual, error)) < 0)
        (void)gw_error_set(
            error, rc, "%s: give the address without a port, because %u workers cannot share one",
            peers, workers);
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return rc;
}

/* Checks --listen here, because the scheduler would report an error only in its log. *tokens
 * becomes an absolute path. */
static int check_listen(const char *listen, const char **tokens, char path[PATH_MAX],
                        struct gw_error *error)
{
    char actual[GW_ENDPOINT_TEXT_MAX];
    struct gw_token_file file = {0};
    int fd, rc = 0;
    if (strchr(listen, '/'))
        return gw_error_set(error, GW_EINVAL, "%s is not an address of this host: give HOST:PORT",
                            listen);
    if (!*tokens)
        rc = gw_token_file_default(path, error);
    else if (!realpath(*tokens, path))
        rc = gw_error_set(error, GW_ENOENT, "--tokens %s: %s", *tokens, strerror(errno));
    *tokens = path;
    if (rc == 0)
        rc = gw_token_file_read(path, &file, error);
    gw_token_file_deinit(&file);
    if (rc == 0 && (rc = gw_endpoint_listen(listen, &fd, actual, error)) == 0)
        close(fd);
    return rc;
}

/* The other hosts (--hosts or --hostfile). */
struct far {
    const char *text, *file; /* NULL: not given */
    struct gw_hosts hosts;
    char listen[GW_ENDPOINT_TEXT_MAX + 2], tokens[PATH_MAX], tokens_path[PATH_MAX];
};

/* Reads the hosts. Makes sure that the cluster listens by TCP and that the token file has a token
 * for the hosts. This machine gets no workers, unless slots or workers were given for it. */
static int check_hosts(struct gw_cluster_options *cluster, const struct gw_memory_options *memory,
                       struct far *far, struct gw_error *error)
{
    int rc = far->text ? gw_hosts_init(&far->hosts, far->text, error)
                       : gw_host_file_read(&far->hosts, far->file, error);
    if (rc < 0)
        return rc;
    cluster->no_workers = !cluster->slots && !cluster->workers;
    if (cluster->no_workers &&
        (cluster->resources || cluster->peers || gw_memory_options_given(memory)))
        return gw_error_set(error, GW_EINVAL,
                            "--resources, --peers, --memory-... and --spill-dir are for workers on "
                            "this machine, which has none: give it some by --slots");
    if (!cluster->listen) {
        rc = gw_ssh_launch_address(&far->hosts, far->listen, sizeof far->listen, error);
        cluster->listen = far->listen;
    }
    if (rc < 0 || strchr(cluster->listen, '/'))
        return rc;
    if (!cluster->tokens)
        rc = gw_token_file_default(far->tokens, error);
    else if (snprintf(far->tokens, PATH_MAX - 8, "%s", cluster->tokens) >= PATH_MAX - 8)
        rc = gw_error_set(error, GW_EINVAL, "--tokens: the path is longer than %d bytes",
                          PATH_MAX - 1);
    return rc < 0 ? rc : gw_ssh_launch_prepare(far->tokens, error);
}

/* Checks the options and converts the memory options. *which is the prefix of the error message. */
static int check(struct gw_cluster_options *cluster, struct gw_memory_options *memory,
                 struct far *far, const char **which, struct gw_error *error)
{
    *which = "";
    int rc = gw_cluster_check_resources(cluster->resources, error);
    if (rc == 0)
        rc = gw_cli_check_folder("--state", cluster->state, error);
    if (rc == 0 && far->text && far->file)
        rc = gw_error_set(error, GW_EINVAL, "give only one of --hosts and --hostfile");
    if (rc == 0 && (far->text || far->file)) {
        *which = far->text ? "--hosts: " : "--hostfile: ";
        rc = check_hosts(cluster, memory, far, error);
    }
    if (rc == 0 && cluster->peers) {
        *which = "--peers: ";
        rc = check_peers(cluster->peers, cluster->workers, error);
    }
    if (rc < 0)
        return rc;
    if (cluster->listen) {
        *which = "--listen: ";
        rc = check_listen(cluster->listen, &cluster->tokens, far->tokens_path, error);
    }
    if (rc < 0)
        return rc;
    *which = "";
    return gw_memory_options_read(memory, &cluster->memory, &cluster->spill_dir, error);
}

/* Returns the first host without a worker in state "ready", or NULL. Returns NULL also if the query
 * fails. A host with an IPv6 address is skipped, because its worker does not have the address as
 * its name. */
static const char *find_lacking(struct gw_client *client, const struct gw_hosts *hosts)
{
    struct gw_value *workers = NULL;
    struct gw_error error;
    const struct gw_hosts_item *host;
    if (gw_client_query(client, "workers", NULL, &workers, &error) < 0)
        return NULL;
    const char *lacking = NULL;
    GW_ARRAY_EACH (&hosts->items, host) {
        const char *name = gw_hosts_address(host);
        bool there = strchr(name, ':') != NULL;
        for (size_t i = 0; i < gw_value_count(workers); i++) {
            const struct gw_value *worker = gw_value_at(workers, i);
            there = there || (strcmp(gw_table_text(worker, "name"), name) == 0 &&
                              strcmp(gw_table_text(worker, "state"), "ready") == 0);
        }
        if (!there && !lacking)
            lacking = host->name;
    }
    gw_value_unref(workers);
    return lacking;
}

/* Waits until all workers are ready. A worker's start ends a moment before the worker has reported
 * its resources, and a job submitted then would find fewer slots. The remote command may also
 * succeed without having started a worker. */
static int await_workers(struct gw_client *client, const struct gw_hosts *hosts,
                         struct gw_error *error)
{
    const uint64_t until_ns = gw_clock_now_ns() + REGISTER_NS;
    const char *lacking;
    while ((lacking = find_lacking(client, hosts))) {
        if (gw_clock_now_ns() > until_ns)
            return gw_error_set(error, GW_ESTART,
                                "no worker at %s: the command that starts it there succeeded, but "
                                "no worker has registered. Check that the login scripts there, or "
                                "GANGWAY_RSH, run the command that they are given",
                                lacking);
        (void)usleep(REGISTER_POLL_US);
    }
    return 0;
}

/* Returns the address of this user's own cluster, whatever GANGWAY_ADDRESS is. "": there is no
 * folder for it. */
static void own_address(char own[OWN_BYTES])
{
    char dir[PATH_MAX];
    *own = '\0';
    if (gw_address_default_dir(dir, NULL) == 0)
        (void)snprintf(own, OWN_BYTES, "unix:%s/%s", dir, GW_ADDRESS_SOCKET);
}

static int open_own(struct gw_client **client, struct gw_error *error)
{
    char own[OWN_BYTES];
    own_address(own);
    const struct gw_client_options options =
        GW_INIT(gw_client_options, .address = own, .name = gw_cli_session_name(),
                .must_exist = true, .no_reconnect = true, .connect_timeout_ns = 1);
    return gw_client_open(&options, client, error);
}

/* Ends the cluster that was just started. A scheduler that has died or got SIGTERM leaves its
 * workers running for the next scheduler. They are ended here, unless another scheduler has
 * started. */
static void take_down(struct gw_client *client, pid_t pid)
{
    struct gw_client *other = NULL;
    if (!client || gw_shutdown_wait(client, &(struct gw_shutdown){0}, NULL) < 0)
        kill(pid, SIGTERM);
    if (!gw_cluster_wait_gone(pid, 20 * GW_NS_PER_S))
        kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (open_own(&other, NULL) == GW_ENOSCHEDULER)
        (void)gw_cli_down_workers();
    gw_client_close(other);
}

/* Starts the workers on the other hosts. If one cannot be started, the cluster is ended. */
static int start_fleet(const struct gw_cluster_options *cluster, const struct far *far, pid_t pid,
                       struct gw_error *error)
{
    char address[GW_ADDRESS_TCP_MAX];
    struct gw_client *client = NULL;
    int rc = open_own(&client, error);
    if (rc == 0)
        rc = gw_address_read_note(address, error);
    if (rc == 0)
        rc = gw_ssh_launch_start(
            &(struct gw_ssh_launch_options){&far->hosts, address, cluster->tokens,
                                            cluster->transfer_bytes_max, cluster->trust_users,
                                            cluster->orphan_given, cluster->orphan_ms, pid},
            error);
    if (rc == 0)
        rc = await_workers(client, &far->hosts, error);
    if (rc < 0)
        take_down(client, pid);
    gw_client_close(client);
    return rc;
}

/* Returns the number of unfinished jobs that the cluster has from an earlier term of its scheduler.
 */
static int64_t count_jobs(void)
{
    struct gw_client *client;
    struct gw_value *status;
    int64_t jobs = 0;
    if (open_own(&client, NULL) < 0)
        return 0;
    if (gw_client_query(client, "status", NULL, &status, NULL) == 0) {
        jobs = gw_table_number(gw_value_find(status, "jobs"), "running");
        gw_value_unref(status);
    }
    gw_client_close(client);
    return jobs;
}

/* Prints warnings about things that users overlook: jobs that use slots at once, and commands that
 * go to another cluster. */
static void say_beside(int64_t jobs, const char *own, const char *listens_at)
{
    const char *address = getenv("GANGWAY_ADDRESS");
    struct gw_identity identity;
    if (jobs > 0)
        gw_cli_message("%lld unfinished job%s of the cluster's last run continue%s: `gangway jobs`",
                       (long long)jobs, jobs == 1 ? "" : "s", jobs == 1 ? "s" : "");
    if (address && *address && strcmp(address, own) != 0 && strcmp(address, listens_at) != 0)
        gw_cli_message("gangway up: GANGWAY_ADDRESS is %s: commands and programs use the cluster "
                       "at that address, not this one, until you unset the variable",
                       address);
    else if (gw_identity_find(&identity))
        gw_cli_message("gangway up: this shell is in a task of another cluster: commands and "
                       "programs use that cluster, not this one, until you unset GANGWAY_IDENTITY");
}

/* Warns that tasks of different users are not isolated from each other on workers. */
static void say_trust(void)
{
    gw_cli_message(
        "gangway up: --trust-users: a task of any user on a worker that runs as Unix user %u, as "
        "this scheduler "
        "does, can act as the cluster's admin, and every task can read the token of its worker: "
        "give tokens only to users whom you trust (SECURITY.md, \"What is not protected\")",
        (unsigned)geteuid());
}

static void report(pid_t pid, bool listens, bool trusts, bool json)
{
    char address[GW_ADDRESS_TCP_MAX] = "", missed[GW_ADDRESS_TCP_MAX];
    char own[OWN_BYTES];
    own_address(own);
    const int64_t jobs = count_jobs();
    if (listens && gw_address_read_missed(missed, NULL) == 0)
        gw_cli_message("gangway up: another process listens at %s, the earlier address of this "
                       "cluster: the cluster uses another port, and workers and clients that have "
                       "the earlier address cannot reach it",
                       missed);
    if (listens) {
        (void)gw_address_read_note(address, NULL);
        if (trusts)
            say_trust();
    }
    if (json) {
        printf("{\"pid\": %d, \"address\": \"%s\", \"jobs\": %lld}\n", (int)pid, address,
               (long long)jobs);
        return;
    }
    gw_cli_message("the cluster is up (process %d); `gangway down` ends it", (int)pid);
    if (*address)
        gw_cli_message(
            "other machines reach the cluster at %s: `gangway token create --role worker` prints "
            "the commands for a machine with a worker, --role user for a client",
            address);
    say_beside(jobs, own, address);
}

static const char far_help[] =
    "The cluster runs until `gangway down`, even if the terminal is closed.\n\n"
    "--hosts a:4,bob@b:2,c starts a worker with 4 slots on a, one with 2 on b and one\n"
    "with a slot per core on c, and waits until all are connected. This machine then\n"
    "has slots only if --slots or --workers is given. If a worker does not start\n"
    "within a minute, its output is printed and everything is stopped again. Without\n"
    "--listen the cluster listens at the address from which the first host is\n"
    "reached. GANGWAY_RSH is the command that runs a command on a host, as HOST\n"
    "COMMAND (default: ssh -o BatchMode=yes). The binary there is\n"
    "GANGWAY_REMOTE_BINARY, else the path of this one, else gangway on PATH. The log\n"
    "of a worker is on its machine: at-HOST_PORT/worker.log in\n"
    "~/.local/state/gangway/HOSTNAME (`gangway worker --help`: --dir).";

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* Starts the cluster. If a signal arrives, nothing is started: otherwise a cluster would stay of
 * which the user does not know. */
static int start(struct gw_cluster_options *cluster, pid_t *pid, struct gw_error *error)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction ours = {.sa_handler = on_signal};
    struct sigaction before[3];
    for (int i = 0; i < 3; i++)
        if (sigaction(numbers[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &ours, NULL);
    cluster->interrupted = &interrupted;
    int rc = gw_shared_cluster_up(cluster, pid, error);
    for (int i = 0; i < 3; i++)
        (void)sigaction(numbers[i], &before[i], NULL);
    return rc;
}

static int run(struct gw_cluster_options *cluster, struct gw_memory_options *memory,
               struct far *far, bool json)
{
    struct gw_error error;
    const char *which;
    pid_t pid;
    int rc = check(cluster, memory, far, &which, &error);
    if (rc < 0) {
        gw_cli_message("gangway up: %s%s", which, error.text);
        return GW_EXIT_USAGE;
    }
    rc = start(cluster, &pid, &error);
    if (rc == 0 && *error.text)
        gw_cli_message("gangway up: %s", error.text);
    if (rc == 0 && (far->text || far->file))
        rc = start_fleet(cluster, far, pid, &error);
    if (rc < 0)
        return gw_cli_error(&error);
    report(pid, cluster->listen != NULL, cluster->trust_users, json);
    return GW_EXIT_OK;
}

int gw_cli_up(int argc, char **argv)
{
    struct gw_daemon_options daemon = {.orphan_ns = UINT64_MAX};
    struct gw_scheduler_options scheduler = {0};
    struct far far = {0};
    uint32_t workers = 0;
    bool json = false;
    int first, exit_code;
    const struct gw_option table[] = {
        {"slots", 0, GW_OPTION_COUNT, &daemon.slots, "N",
         "number of slots, so of tasks that run at the same\n"
         "time (default: the number of cores)"},
        {"workers", 0, GW_OPTION_COUNT, &workers, "K",
         "number of worker processes, among which the slots\n"
         "and GPUs are divided (default: 1); `gangway gpu\n"
         "list` shows the GPUs of each worker"},
        {"resources", 0, GW_OPTION_TEXT, &daemon.resources, "NAME=N,...",
         "resources that the first worker offers, like\n"
         "license=1,tape=2"},
        {"peers", 0, GW_OPTION_TEXT, &daemon.peers, "HOST",
         "workers exchange results over TLS at this\n"
         "address, as between hosts (default: they pass\n"
         "descriptors, which is faster)"},
        GW_OPTION_TABLE(gw_daemon_options_table(&daemon)),
        GW_OPTION_TABLE(gw_scheduler_options_table(&scheduler)),
        {"hosts", 0, GW_OPTION_TEXT, &far.text, "HOST:N,...",
         "start workers on these hosts by ssh: see above"},
        {"hostfile", 0, GW_OPTION_TEXT, &far.file, "FILE",
         "the same from a file: each line is `a:4` or `a\n"
         "slots=4`"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "up",
        .arguments = "",
        .summary = "Start a cluster on this machine, for this user; `gangway down` ends it.",
        .details = far_help,
        .table = table,
        .synonyms = gw_synonym_up,
    };
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    struct gw_cluster_options cluster = {
        .slots = daemon.slots,
        .workers = workers,
        .peers = daemon.peers,
        .resources = daemon.resources,
        .file_cache_bytes = daemon.file_cache_bytes,
        .retained_bytes_max = daemon.retained_bytes_max,
        .transfer_bytes_max = daemon.transfer_bytes_max,
        .log_max_bytes = daemon.log_max_bytes,
        .trust_users = daemon.trust_users,
        .orphan_given = daemon.orphan_ns != UINT64_MAX,
        .orphan_ms = daemon.orphan_ns / GW_NS_PER_MS,
        .listen = scheduler.listen,
        .tokens = scheduler.tokens,
        .state = scheduler.state,
        .audit = scheduler.audit,
        .audit_bytes_max = scheduler.audit_bytes_max,
        .accept_loss = scheduler.accept_loss,
        .idle_stop_s = gw_scheduler_options_idle_stop_s(&scheduler),
        .pure_bytes_max = scheduler.pure_bytes_max,
        .history_jobs = scheduler.history_jobs,
        .accounting = scheduler.accounting,
        .accounting_retention_ns = gw_scheduler_options_retention_ns(&scheduler),
        .scatter_memory_bytes = scheduler.scatter_memory_bytes,
    };
    exit_code = run(&cluster, &daemon.memory, &far, json);
    gw_hosts_deinit(&far.hosts);
    return exit_code;
}
