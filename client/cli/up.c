/* `gangway up` starts this user's cluster on this machine, and workers of it on others. */
#include "client/address.h"
#include "client/cli/cli.h"
#include "client/cli/fleet.h"
#include "client/cli/host_file.h"
#include "client/cli/memory_options.h"
#include "client/cli/options.h"
#include "client/cli/table.h"
#include "client/cluster.h"
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
enum { REGISTER_POLL_US = 2000 };

/* Refuses here what the workers would refuse in their logs. */
static int check_peers(const char *peers, uint32_t workers, struct gw_error *error)
{
    char actual[GW_ENDPOINT_TEXT_MAX];
    int fds[2] = {-1, -1};
    if (strchr(peers, '/'))
        return gw_error_set(error, GW_EINVAL, "%s is no address of this host", peers);
    int rc = gw_endpoint_listen(peers, &fds[0], actual, error);
    if (rc == 0 && workers > 1 && (rc = gw_endpoint_listen(peers, &fds[1], actual, error)) < 0)
        (void)gw_error_set(error, rc, "%s: name no port: %u workers cannot share one", peers,
                           workers);
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return rc;
}

/* Refuses here what the scheduler would refuse in its log. *tokens becomes absolute. */
static int check_listen(const char *listen, const char **tokens, char path[PATH_MAX],
                        struct gw_error *error)
{
    char actual[GW_ENDPOINT_TEXT_MAX];
    struct gw_token_file file = {0};
    int fd, rc = 0;
    if (strchr(listen, '/'))
        return gw_error_set(error, GW_EINVAL, "%s is no address of this host: HOST:PORT", listen);
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

/* The other hosts. */
struct far {
    const char *text, *file; /* NULL: none */
    struct gw_hosts hosts;
    char listen[GW_ENDPOINT_TEXT_MAX + 2], tokens[PATH_MAX], tokens_path[PATH_MAX];
};

/* Reads which hosts there are, and sees to it that the cluster listens, with a token for them.
 * Their machines take the place of this one, unless it was given slots too. */
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
                            "this machine: say by --slots that it is to have some");
    if (!cluster->listen) {
        rc = gw_fleet_address(&far->hosts, far->listen, sizeof far->listen, error);
        cluster->listen = far->listen;
    }
    if (rc < 0 || strchr(cluster->listen, '/'))
        return rc;
    if (!cluster->tokens)
        rc = gw_token_file_default(far->tokens, error);
    else if (snprintf(far->tokens, PATH_MAX - 8, "%s", cluster->tokens) >= PATH_MAX - 8)
        rc = gw_error_set(error, GW_EINVAL, "--tokens: too long a path");
    return rc < 0 ? rc : gw_fleet_prepare(far->tokens, error);
}

/* Checks what was given, and fills in what was said of memory; *which begins the text. */
static int check(struct gw_cluster_options *cluster, struct gw_memory_options *memory,
                 struct far *far, const char **which, struct gw_error *error)
{
    *which = "";
    int rc = gw_cluster_check_resources(cluster->resources, error);
    if (rc == 0)
        rc = gw_cli_check_folder("--state", cluster->state, error);
    if (rc == 0 && far->text && far->file)
        rc = gw_error_set(error, GW_EINVAL, "--hosts and --hostfile: one of them");
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

/* The first of the hosts without a worker that is ready for tasks, or NULL; NULL, too, where nobody
 * says so. A host that has no name there is not looked for. */
static const char *find_lacking(struct gw_client *client, const struct gw_hosts *hosts)
{
    struct gw_value *workers = NULL;
    struct gw_error error;
    const struct gw_hosts_item *host;
    if (!client || gw_client_query(client, "workers", NULL, &workers, &error) < 0)
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

/* A worker knows that it was let in a moment before it has said what it has: whoever submits as
 * soon as `up` is over would find less. What ended well on a host need not have been a worker. */
static int await_workers(struct gw_client *client, const struct gw_hosts *hosts,
                         struct gw_error *error)
{
    const uint64_t until_ns = gw_clock_now_ns() + REGISTER_NS;
    const char *lacking;
    while ((lacking = find_lacking(client, hosts))) {
        if (gw_clock_now_ns() > until_ns)
            return gw_error_set(error, GW_ESTART,
                                "no worker at %s: what was run there ended well, and none came. Do "
                                "login scripts there, or GANGWAY_RSH, run what they are given?",
                                lacking);
        (void)usleep(REGISTER_POLL_US);
    }
    return 0;
}

/* Workers on the other hosts; without all of them there is no cluster. */
static int start_fleet(const struct gw_cluster_options *cluster, const struct far *far, pid_t pid,
                       struct gw_error *error)
{
    char address[GW_ADDRESS_TCP_MAX];
    struct gw_client *client = NULL;
    int rc = gw_address_read_note(address, error);
    if (rc == 0 && gw_cli_open(&client) != GW_EXIT_OK)
        client = NULL;
    if (rc == 0)
        rc = gw_fleet_start(&(struct gw_fleet_options){&far->hosts, address, cluster->tokens,
                                                       cluster->carry_max_bytes,
                                                       cluster->orphan_given, cluster->orphan_ms,
                                                       pid},
                            error);
    if (rc == 0)
        rc = await_workers(client, &far->hosts, error);
    gw_client_close(client);
    if (rc == 0)
        return 0;
    kill(pid, SIGTERM);
    if (!gw_cluster_wait_gone(pid, 20 * GW_NS_PER_S))
        kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return rc;
}

/* How many jobs of its life before the cluster goes on with. */
static int64_t count_jobs(const char *address)
{
    const struct gw_client_options options = {.address = address,
                                              .name = gw_cli_session_name(),
                                              .must_exist = true,
                                              .no_reconnect = true};
    struct gw_client *client;
    struct gw_value *status;
    int64_t jobs = 0;
    if (gw_client_open(&options, &client, NULL) < 0)
        return 0;
    if (gw_client_query(client, "status", NULL, &status, NULL) == 0) {
        jobs = gw_table_number(gw_value_find(status, "jobs"), "running");
        gw_value_unref(status);
    }
    gw_client_close(client);
    return jobs;
}

/* What is easily overlooked: jobs that take slots at once, and commands that go elsewhere. */
static void say_beside(int64_t jobs, const char *own, const char *listens_at)
{
    const char *address = getenv("GANGWAY_ADDRESS");
    if (jobs > 0)
        gw_cli_say("%lld unfinished job%s of its life before go%s on: `gangway jobs`",
                   (long long)jobs, jobs == 1 ? "" : "s", jobs == 1 ? "es" : "");
    if (address && *address && strcmp(address, own) != 0 && strcmp(address, listens_at) != 0)
        gw_cli_say("gangway up: GANGWAY_ADDRESS is %s: commands and programs go there, not to this "
                   "cluster, until you unset it",
                   address);
}

static void report(pid_t pid, bool listens, bool json)
{
    char address[GW_ADDRESS_TCP_MAX] = "", missed[GW_ADDRESS_TCP_MAX];
    char dir[PATH_MAX], own[PATH_MAX + 32] = "";
    if (gw_address_default_dir(dir, NULL) == 0)
        snprintf(own, sizeof own, "unix:%s/%s", dir, GW_ADDRESS_SOCKET);
    int64_t jobs = *own ? count_jobs(own) : 0;
    if (listens && gw_address_read_missed(missed, NULL) == 0)
        gw_cli_say("gangway up: somebody else listens at %s now, where workers and clients of this "
                   "cluster look for it: it takes another port",
                   missed);
    if (listens)
        (void)gw_address_read_note(address, NULL);
    if (json) {
        printf("{\"pid\": %d, \"address\": \"%s\", \"jobs\": %lld}\n", (int)pid, address,
               (long long)jobs);
        return;
    }
    gw_cli_say("the cluster is up (process %d); `gangway down` ends it", (int)pid);
    if (*address)
        gw_cli_say(
            "other machines reach it at %s: `gangway token create --role worker` prints what "
            "to paste there for a worker, --role user for a client",
            address);
    say_beside(jobs, own, address);
}

static const char far_help[] =
    "It goes on when the terminal is closed.\n\n"
    "--hosts a:4,bob@b:2,c starts a worker with 4 slots on a, with 2 on b, with its\n"
    "cores on c, and waits until all are there; this machine gives slots only where\n"
    "--slots or --workers says so. If one does not start within a minute, what it\n"
    "said is shown and everything is taken down again. Without --listen the cluster\n"
    "listens at the address from which the first host is reached. GANGWAY_RSH is\n"
    "the command that runs others there, as HOST COMMAND (ssh -o BatchMode=yes).\n"
    "The binary there is GANGWAY_REMOTE_BINARY, else the path of this one, else\n"
    "gangway on PATH. A worker's log is on its machine: at-HOST_PORT/worker.log in\n"
    "$XDG_RUNTIME_DIR/gangway, or in /tmp/gangway-UID.";

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* Starts the cluster, or nothing: who is interrupted would leave one behind, and not say so. */
static int start(struct gw_cluster_options *cluster, pid_t *pid, struct gw_error *error)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction ours = {.sa_handler = on_signal};
    struct sigaction before[3];
    for (int i = 0; i < 3; i++)
        if (sigaction(numbers[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &ours, NULL);
    cluster->interrupted = &interrupted;
    int rc = gw_cluster_up(cluster, pid, error);
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
        gw_cli_say("gangway up: %s%s", which, error.text);
        return GW_EXIT_USAGE;
    }
    rc = start(cluster, &pid, &error);
    if (rc == 0 && (far->text || far->file))
        rc = start_fleet(cluster, far, pid, &error);
    if (rc < 0)
        return gw_cli_error(&error);
    report(pid, cluster->listen != NULL, json);
    return GW_EXIT_OK;
}

int gw_cli_up(int argc, char **argv)
{
    struct gw_cluster_options cluster = {0};
    struct gw_memory_options memory = {0};
    struct far far = {0};
    uint64_t idle_stop_ns = 0, pure_keep_bytes = UINT64_MAX, keep_files_bytes = UINT64_MAX;
    uint64_t orphan_ns = UINT64_MAX;
    bool json = false;
    int first, exit_code;
    const struct gw_option table[] = {
        {"slots", 's', GW_OPTION_COUNT, &cluster.slots, "N",
         "slots in all: tasks that run at once\n(default: the cores)"},
        {"workers", 'w', GW_OPTION_COUNT, &cluster.workers, "K",
         "worker processes that share the slots and the\nGPUs (default: 1); "
         "`gangway worker gpus` says\nwho has which"},
        {"resources", 0, GW_OPTION_TEXT, &cluster.resources, "NAME=N,...",
         "what tasks may ask for by name, like\nlicense=1,tape=2; the first worker has it"},
        {"peers", 0, GW_OPTION_TEXT, &cluster.peers, "HOST",
         "workers exchange results over TLS at this\naddress, as they would between "
         "hosts\n(default: as descriptors, which is faster)"},
        GW_MEMORY_OPTIONS(memory),
        {"idle-stop", 0, GW_OPTION_DURATION, &idle_stop_ns, "TIME",
         "end when unused for so long, like 30m\n(default: 0, never)"},
        {"pure-keep", 0, GW_OPTION_SIZE, &pure_keep_bytes, "SIZE",
         "results of pure tasks that are kept for who\nasks next (64M; 0: none)"},
        {"scatter-memory", 0, GW_OPTION_SIZE, &cluster.scatter_memory_bytes, "SIZE",
         "values that clients scatter, at the scheduler\n(default, also for 0: half of this "
         "machine's\nmemory)"},
        {"file-cache", 0, GW_OPTION_SIZE, &cluster.file_cache_bytes, "SIZE",
         "shipped files that are kept (4G, also for 0): of\nall jobs, and on each host those used "
         "last"},
        {"keep-files", 0, GW_OPTION_SIZE, &keep_files_bytes, "SIZE",
         "what tasks with --ship left, kept on each host\nfor `gangway get` (4G; 0: nothing)"},
        {"carry-max", 0, GW_OPTION_SIZE, &cluster.carry_max_bytes, "SIZE",
         "checkpoints up to this are carried to, and\ncopied at, other hosts (8G, also for 0)"},
        {"log-max", 0, GW_OPTION_SIZE, &cluster.log_max_bytes, "SIZE",
         "a log of this cluster that is larger begins\nanew; the one before is kept, as .1 (64M, "
         "also\nfor 0)"},
        {"listen", 0, GW_OPTION_TEXT, &cluster.listen, "HOST:PORT",
         "other machines reach it at this address, by\nTLS, with tokens (`gangway token create`)"},
        {"tokens", 0, GW_OPTION_TEXT, &cluster.tokens, "FILE",
         "the token file (default:\n~/.config/gangway/tokens)"},
        {"state", 0, GW_OPTION_TEXT, &cluster.state, "DIR",
         "where detached jobs are kept, for the next `up`\n"
         "(default: in the cluster's folder, which\na reboot may empty)"},
        {"orphan-timeout", 0, GW_OPTION_DURATION, &orphan_ns, "TIME",
         "if the scheduler dies, what runs goes on for so\nlong, for the next `up` (10m; 0: it "
         "ends, too)"},
        {"hosts", 0, GW_OPTION_TEXT, &far.text, "HOST:N,...", "workers there, by ssh: see above"},
        {"hostfile", 0, GW_OPTION_TEXT, &far.file, "FILE", "the same, `a:4` or `a slots=4` a line"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "up",
        .arguments = "",
        .summary = "Start a cluster on this machine, for this user; `gangway down` ends it.",
        .details = far_help,
        .table = table,
    };
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (keep_files_bytes != UINT64_MAX)
        cluster.keep_files_bytes = keep_files_bytes ? keep_files_bytes : 1; /* likewise */
    cluster.orphan_given = orphan_ns != UINT64_MAX;
    cluster.orphan_ms = orphan_ns / GW_NS_PER_MS;
    if (pure_keep_bytes != UINT64_MAX)
        cluster.pure_keep_bytes = pure_keep_bytes ? pure_keep_bytes : 1; /* nothing is so small */
    cluster.idle_stop_s = (idle_stop_ns + GW_NS_PER_S - 1) / GW_NS_PER_S;
    exit_code = run(&cluster, &memory, &far, json);
    gw_hosts_deinit(&far.hosts);
    return exit_code;
}
