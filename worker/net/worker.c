/* The command `gangway worker`: options, limits, signals, and the folder of a private cluster. */
#include "worker/net/worker.h"

#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/base/machine.h"
#include "graph/base/spin.h"
#include "graph/model/resources.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/threads.h"
#include "graph/wire/token_file.h"
#include "worker/net/host.h"
#include "worker/net/link/shut_down.h"
#include "worker/net/link/state.h"
#include "worker/net/parts/health_machine.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, SLOTS_MAX = 4096 };

#define ORPHAN_MS_DEFAULT UINT64_C(600000)
#define ORPHAN_MS_MAX UINT64_C(3155760000000) /* a century */
#define RETAINED_BYTES_DEFAULT (UINT64_C(4) << 30)
#define HEALTH_TIMEOUT_MS_DEFAULT UINT64_C(30000)

struct daemon {
    uv_loop_t loop;
    uv_signal_t signals[2], hangup;
    struct gw_host *host;
    struct gw_host_options options;
    char dir[PATH_MAX], host_name[256];
    const char *alive;   /* file of --alive; NULL: none */
    const char *connect; /* as the user typed it; NULL: a scheduler on this host */
    char scheduler[GW_ENDPOINT_TEXT_MAX], peers[GW_ENDPOINT_TEXT_MAX];
    char interface[GW_ENDPOINT_INTERFACE_BYTES];
    struct gw_tls_key key;
    int token_fd; /* -1: use this machine's own token */
    int dir_lock_fd;
    int live_fd;  /* locked file that shows that this worker lives; -1: none */
    pid_t parent; /* the scheduler that started this worker; 0: none */
    uint64_t log_max_bytes;
};

static int usage(void)
{
    (void)fprintf(
        stderr,
        "gangway worker: wants --dir DIR, and may have --connect HOST:PORT, --slots N (1 to %d), "
        "--of M (N or more), --part I/K (of the GPUs; I from 0), --private, --parent PID, --name "
        "NAME, --peers HOST[:PORT], "
        "--file-cache BYTES, --keep-files BYTES (what tasks with --ship left; 0: nothing), "
        "--checkpoint-max BYTES, --log-max BYTES, --orphan-timeout MILLISECONDS (what it "
        "runs outlives "
        "the scheduler by; "
        "0: not at all), --resources NAME=AMOUNT,..., "
        "--memory LIMIT,TARGET,SPILL,PAUSE,TERMINATE, --spill-dir DIR, --token-fd FD "
        "(instead of this machine's token), --trust-users, --separate-users, --cgroup DIR, "
        "--health-check FILE, "
        "--health-interval MILLISECONDS, --health-timeout MILLISECONDS, --ready-fd FD and "
        "--alive FILE; "
        "`gangway up` "
        "starts it with what it needs\n",
        SLOTS_MAX);
    return GW_EINVAL;
}

static int check_texts(const struct gw_host_options *options)
{
    struct gw_arena arena = {0};
    struct gw_resources resources;
    struct gw_pairs names;
    struct gw_error error;
    const char *what = "--resources";
    int rc = gw_resources_parse(options->resources, &arena, &resources, &error);
    if (rc == 0) {
        what = "--name";
        rc = gw_pairs_parse_names(options->name, &arena, &names, &error);
        if (rc == 0 && (names.count != 1 || strchr(options->name, '[')))
            rc = gw_error_set(&error, GW_EINVAL, "a name is one word, without a comma or brackets");
    }
    if (rc < 0)
        (void)fprintf(stderr, "gangway worker: %s: %s\n", what, error.text);
    gw_arena_deinit(&arena);
    return rc;
}

static const struct option option_table[] = {
    {"dir", required_argument, NULL, 'd'},
    {"slots", required_argument, NULL, 's'},
    {"of", required_argument, NULL, 'o'},
    {"name", required_argument, NULL, 'n'},
    {"peers", required_argument, NULL, 'e'},
    {"resources", required_argument, NULL, 'R'},
    {"private", no_argument, NULL, 'p'},
    {"parent", required_argument, NULL, 'P'},
    {"memory", required_argument, NULL, 'm'},
    {"spill-dir", required_argument, NULL, 'S'},
    {"file-cache", required_argument, NULL, 'f'},
    {"checkpoint-max", required_argument, NULL, 'C'},
    {"log-max", required_argument, NULL, 'g'},
    {"connect", required_argument, NULL, 'c'},
    {"token-fd", required_argument, NULL, 't'},
    {"ready-fd", required_argument, NULL, 'r'},
    {"keep-files", required_argument, NULL, 'k'},
    {"orphan-timeout", required_argument, NULL, 'O'},
    {"alive", required_argument, NULL, 'A'},
    {"part", required_argument, NULL, 'a'},
    {"trust-users", no_argument, NULL, 'U'},
    {"separate-users", no_argument, NULL, 'T'},
    {"health-check", required_argument, NULL, 'h'},
    {"health-interval", required_argument, NULL, 'i'},
    {"health-timeout", required_argument, NULL, 'l'},
    {"cgroup", required_argument, NULL, 'G'},
    {NULL, 0, NULL, 0},
};

static unsigned long cores(void)
{
    cpu_set_t ours;
    return sched_getaffinity(0, sizeof ours, &ours) == 0 ? (unsigned long)CPU_COUNT(&ours) : 1;
}

/* Returns the name of this host up to the first dot. */
static const char *short_name(char *name, size_t bytes)
{
    if (gethostname(name, bytes) < 0)
        return "worker";
    name[bytes - 1] = '\0';
    name[strcspn(name, ".,=")] = '\0';
    return *name ? name : "worker";
}

/* Sets the defaults of a worker that a person has started: all cores of this host, its name, and
 * how long a health check may run. */
static void set_defaults(struct daemon *daemon, unsigned long *slots)
{
    if (*slots == 0)
        *slots = cores();
    if (!daemon->options.health_timeout_ms)
        daemon->options.health_timeout_ms = HEALTH_TIMEOUT_MS_DEFAULT;
    if (strcmp(daemon->options.name, "worker") == 0)
        daemon->options.name = short_name(daemon->host_name, sizeof daemon->host_name);
}

static int set_dir(struct daemon *daemon, const char *dir)
{
    daemon->options.dir = daemon->dir;
    if (realpath(dir, daemon->dir))
        return 0;
    (void)fprintf(stderr, "gangway worker: %s: %s\n", dir, strerror(errno));
    return GW_ENOENT;
}

/* Parses the options for programs that start workers. Returns false if the option is another one or
 * malformed. */
static bool parse_given(struct daemon *daemon, int option)
{
    char *end = "";
    if (option == 'O') {
        daemon->options.orphan_ms = strtoull(optarg, &end, 10);
        return *optarg >= '0' && *optarg <= '9' && !*end &&
               daemon->options.orphan_ms <= ORPHAN_MS_MAX;
    }
    if (option == 'g') {
        daemon->log_max_bytes = strtoull(optarg, &end, 10);
        return *optarg >= '0' && *optarg <= '9' && !*end;
    }
    if (option == 'i' || option == 'l') {
        *(option == 'i' ? &daemon->options.health_interval_ms
                        : &daemon->options.health_timeout_ms) = strtoull(optarg, &end, 10);
        return *optarg >= '0' && *optarg <= '9' && !*end;
    }
    if (option == 'a')
        return sscanf(optarg, "%u/%u", &daemon->options.part, &daemon->options.parts) == 2 &&
               daemon->options.part < daemon->options.parts;
    if (option == 't')
        daemon->token_fd = (int)strtol(optarg, NULL, 10);
    else if (option == 'r')
        daemon->options.ready_fd = (int)strtol(optarg, NULL, 10);
    else if (option == 'P')
        daemon->parent = (pid_t)strtol(optarg, NULL, 10);
    else if (option == 'A')
        daemon->alive = optarg;
    else if (option == 'h')
        daemon->options.health_check = optarg;
    else if (option == 'G')
        (void)setenv("GANGWAY_CGROUP", optarg, 1); /* for the supervisor */
    else if (option == 'T')
        daemon->options.separate_users = true;
    else if (option == 'U')
        daemon->options.trust_users = true;
    return option == 't' || option == 'T' || option == 'U' || option == 'r' || option == 'P' ||
           option == 'A' || option == 'h' || option == 'G';
}

static int parse(struct daemon *daemon, int argc, char **argv)
{
    const char *dir = NULL;
    struct gw_error error;
    unsigned long slots = 0, all = 0;
    char *end = "", *all_end = "", *cache_end = "", *transfer_end = "", *retained_end = "";
    int option;
    optind = 1;
    daemon->options.name = "worker";
    daemon->options.retained_bytes_max = RETAINED_BYTES_DEFAULT;
    daemon->options.orphan_ms = ORPHAN_MS_DEFAULT;
    daemon->dir_lock_fd = daemon->token_fd = daemon->live_fd = -1;
    gw_memory_lines_init(&daemon->options.memory);
    while ((option = getopt_long(argc, argv, "", option_table, NULL)) >= 0) {
        switch (option) {
        case 'd':
            dir = optarg;
            break;
        case 's':
            slots = strtoul(optarg, &end, 10);
            break;
        case 'o':
            all = strtoul(optarg, &all_end, 10);
            break;
        case 'n':
            daemon->options.name = optarg;
            break;
        case 'e':
            daemon->options.peers = optarg;
            break;
        case 'R':
            daemon->options.resources = optarg;
            break;
        case 'f':
            daemon->options.files_bytes_max = strtoull(optarg, &cache_end, 10);
            break;
        case 'k':
            daemon->options.retained_bytes_max = strtoull(optarg, &retained_end, 10);
            break;
        case 'C':
            daemon->options.transfer_bytes_max = strtoull(optarg, &transfer_end, 10);
            break;
        case 'p':
            daemon->options.private_cluster = true;
            break;
        case 'm':
            if (gw_memory_lines_parse(optarg, &daemon->options.memory, &error) < 0) {
                (void)fprintf(stderr, "gangway worker: %s\n", error.text);
                return GW_EINVAL;
            }
            break;
        case 'S':
            daemon->options.spill_dir = optarg;
            break;
        case 'c':
            daemon->connect = optarg;
            break;
        default:
            if (!parse_given(daemon, option))
                return usage();
        }
    }
    set_defaults(daemon, &slots);
    if (!dir || *end || slots < 1 || slots > SLOTS_MAX || *all_end || *cache_end || *transfer_end ||
        *retained_end || (all > 0 && all < slots) || all > UINT32_MAX || optind != argc)
        return usage();
    if (check_texts(&daemon->options) < 0)
        return GW_EINVAL;
    daemon->options.slots = (uint32_t)slots;
    daemon->options.slots_in_all = (uint32_t)(all ? all : slots);
    return set_dir(daemon, dir);
}

/* -- A scheduler on another host -----------------------------------------------------------------
 */

/* Opens and locks the folder that all workers of this host share for that scheduler. The folder
 * outlives the workers: it keeps shipped files, and the data of jobs that the scheduler knows. The
 * first worker in it also removes the data of unknown jobs. */
static int enter_folder(struct daemon *daemon, struct gw_error *error)
{
    char path[PATH_MAX];
    struct stat locked, there;
    (void)snprintf(path, sizeof path, "%.*s/lock", PATH_MAX - 8, daemon->dir);
    for (;;) {
        daemon->dir_lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (daemon->dir_lock_fd < 0)
            return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
        daemon->options.first_in_folder = flock(daemon->dir_lock_fd, LOCK_EX | LOCK_NB) == 0;
        if (flock(daemon->dir_lock_fd, LOCK_SH) < 0 || fstat(daemon->dir_lock_fd, &locked) < 0)
            return gw_error_set(error, GW_EIO, "%s: %s", daemon->dir, strerror(errno));
        if (stat(path, &there) == 0 && there.st_ino == locked.st_ino)
            break;
        close(daemon->dir_lock_fd); /* another process has removed the folder as too old */
        daemon->dir_lock_fd = -1;
        int rc = gw_dir_make(daemon->dir, error);
        if (rc < 0)
            return rc;
    }
    (void)futimens(daemon->dir_lock_fd, NULL); /* mark the folder as in use */
    return 0;
}

/* Locks a file and writes the process id to it. A scheduler that starts in this folder sees by the
 * lock that this worker lives. */
static int say_alive(struct daemon *daemon, struct gw_error *error)
{
    char path[PATH_MAX];
    if (daemon->alive)
        (void)snprintf(path, sizeof path, "%s", daemon->alive);
    else
        (void)snprintf(path, sizeof path, "%.*s/%.200s.lock", PATH_MAX - 210, daemon->dir,
                       daemon->options.name);
    daemon->live_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (daemon->live_fd < 0 || flock(daemon->live_fd, LOCK_EX | LOCK_NB) < 0 ||
        ftruncate(daemon->live_fd, 0) < 0 || dprintf(daemon->live_fd, "%d\n", (int)getpid()) < 0)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    return 0;
}

/* Reads the token from the pipe of the program that started this worker. */
static int read_token(int fd, struct gw_token *token, struct gw_error *error)
{
    char text[4 * GW_TOKEN_TEXT_BYTES];
    size_t got = 0;
    ssize_t bytes;
    while (got < sizeof text - 1 && ((bytes = read(fd, text + got, sizeof text - 1 - got)) > 0 ||
                                     (bytes < 0 && errno == EINTR)))
        got += bytes > 0 ? (size_t)bytes : 0;
    text[got] = '\0';
    close(fd);
    int rc = gw_token_parse(text, token, error);
    explicit_bzero(text, sizeof text);
    return rc < 0 ? gw_error_prefix(error, "--token-fd") : 0;
}

/* Prepares the connection to the scheduler, and the address for workers of other hosts: the local
 * address of the route to the scheduler. */
static int prepare(struct daemon *daemon, struct gw_error *error)
{
    struct gw_host_options *options = &daemon->options;
    struct gw_token token;
    int rc = 0;
    options->interface = daemon->interface;
    if ((daemon->parent && !options->private_cluster) || daemon->alive) {
        rc = say_alive(daemon, error);
        if (rc < 0)
            return rc;
    }
    if (daemon->alive)
        options->alive_fd = daemon->live_fd;
    if (!daemon->connect) {
        if (options->peers) {
            gw_endpoint_host(options->peers, daemon->scheduler);
            (void)gw_endpoint_route(daemon->scheduler, daemon->peers, daemon->interface, NULL);
        }
        return 0;
    }
    rc = enter_folder(daemon, error);
    if (rc == 0)
        rc = daemon->token_fd >= 0 ? read_token(daemon->token_fd, &token, error)
                                   : gw_token_file_own(&token, error);
    if (rc < 0)
        return rc;
    strcpy(daemon->key.identity, token.id);
    memcpy(daemon->key.secret, token.secret, sizeof daemon->key.secret);
    explicit_bzero(&token, sizeof token);
    rc = gw_endpoint_resolve(daemon->connect, daemon->scheduler, error);
    if (rc == 0)
        rc = gw_endpoint_route(daemon->scheduler, daemon->peers, daemon->interface, error);
    options->connect = daemon->scheduler;
    options->key = &daemon->key;
    if (!options->peers)
        options->peers = daemon->peers;
    return rc;
}

static void daemon_on_signal(uv_signal_t *handle, int signal)
{
    struct daemon *daemon = handle->data;
    if (daemon->host)
        gw_shut_down_by_signal(daemon->host, signal);
    else
        gw_log_info("ending: %s", signal == SIGINT ? "interrupted" : "terminated");
}

/* The configuration file; see gw_worker_configure. */
static struct {
    gw_worker_read read;
    void *arg;
} configuration;

void gw_worker_configure(gw_worker_read read, void *arg)
{
    configuration.read = read;
    configuration.arg = arg;
}

static void daemon_on_reload(uv_signal_t *handle, int signal)
{
    const struct daemon *daemon = handle->data;
    struct daemon fresh = {0};
    struct gw_worker_config config = {0};
    struct gw_error error = {0};
    (void)signal;
    if (configuration.read(configuration.arg, &config, &error) < 0 ||
        parse(&fresh, config.argc, config.argv) < 0) {
        gw_log_error("the configuration file is refused, and nothing changes: %s", error.text);
        return;
    }
    gw_log_limit(fresh.log_max_bytes);
    gw_host_configure(daemon->host, &fresh.options);
    gw_log_info("the configuration file was read again");
    if (*config.restart)
        gw_log_warn("these options have changed, and need a restart of the worker: %s",
                    config.restart);
}

/* A signal to a process group reaches this worker and its tasks. A rank may die of it before the
 * loop handles the signal, which it does last. The handler therefore records the signal at once,
 * and code that handles the end of a rank checks it first. The variables are atomic, since any
 * thread may run the handler. */
static atomic_int told, times;
static _Atomic(void (*)(int)) loops[2]; /* the signal handlers of libuv */

static void on_told(int number)
{
    void (*loop)(int) = atomic_load(&loops[number == SIGINT]);
    atomic_store(&told, number);
    atomic_fetch_add(&times, 1);
    loop(number);
}

static void note_signal(int number)
{
    struct sigaction own;
    (void)sigaction(number, NULL, &own);
    atomic_store(&loops[number == SIGINT], own.sa_handler);
    own.sa_handler = on_told;
    (void)sigaction(number, &own, NULL);
}

/* Installs the signal handlers. They do not keep the loop running: it ends when the host has closed
 * all its handles. */
static void watch(struct daemon *daemon)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; i++) {
        (void)uv_signal_init(&daemon->loop, &daemon->signals[i]);
        (void)uv_signal_start(&daemon->signals[i], daemon_on_signal, numbers[i]);
        daemon->signals[i].data = daemon;
        uv_unref((uv_handle_t *)&daemon->signals[i]);
        note_signal(numbers[i]);
    }
    (void)uv_signal_init(&daemon->loop, &daemon->hangup);
    daemon->hangup.data = daemon;
    uv_unref((uv_handle_t *)&daemon->hangup);
}

/* Raises the limit of descriptors, since each object uses one. A write to a closed socket must be
 * an error and not a signal. */
static void set_limits(void)
{
    gw_machine_raise_descriptors();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file at its size limit must be an error, too */
}

/* Makes a worker that a scheduler started, and that must not outlive the scheduler, end when the
 * scheduler ends, even if it crashes. The next scheduler starts its own workers. */
static void end_with_parent(const struct daemon *daemon)
{
    const bool alone = daemon->options.private_cluster || !daemon->options.orphan_ms;
    if (daemon->parent && alone && prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 &&
        getppid() != daemon->parent)
        (void)raise(SIGTERM); /* the scheduler died before prctl */
}

/* Returns true if a scheduler accepts connections in the folder. The folder must not be removed
 * then. */
static bool somebody_serves(const char *dir)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (snprintf(address.sun_path, sizeof address.sun_path, "%s/scheduler.sock", dir) >=
        (int)sizeof address.sun_path)
        return true;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool serves = fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 ||
                  (errno != ECONNREFUSED && errno != ENOENT);
    if (fd >= 0)
        close(fd);
    return serves;
}

/* Removes the files of this worker. Signals are still handled at this time: the scheduler sees the
 * end of the connection and may send a signal at once, which must not kill this process in the
 * middle of the removal. */
static void remove_own(struct daemon *daemon)
{
    struct gw_error error;
    if (daemon->host)
        gw_host_free(daemon->host);
    explicit_bzero(&daemon->key, sizeof daemon->key);
    if (daemon->dir_lock_fd >= 0) {
        (void)futimens(daemon->dir_lock_fd, NULL);
        close(daemon->dir_lock_fd);
    }
    if (daemon->live_fd >= 0)
        close(daemon->live_fd);
    if (daemon->options.private_cluster && !somebody_serves(daemon->dir) &&
        gw_dir_remove(daemon->dir, &error) < 0)
        gw_log_warn("%s", error.text);
}

/* Runs the loop until nothing is left to wait for. Polls for a short time before it sleeps, since
 * events often follow soon. */
static void serve(uv_loop_t *loop)
{
    struct gw_spin spin;
    gw_spin_init(&spin);
    if (!spin.limit_ns) {
        (void)uv_run(loop, UV_RUN_DEFAULT);
        return;
    }
    do {
        struct pollfd fd = {.fd = uv_backend_fd(loop), .events = POLLIN};
        int ms = uv_backend_timeout(loop); /* negative: no timer */
        if (ms != 0)
            (void)gw_spin_poll(&spin, &fd, 1, ms < 0 ? UINT64_MAX : (uint64_t)ms * GW_NS_PER_MS);
    } while (uv_run(loop, UV_RUN_NOWAIT));
}

/* Checks a disk, as a process of its own that a worker starts (parts/health_script.h). */
static int check_disk(const char *folder)
{
    char why[GW_ERROR_TEXT_MAX];
    gw_health_disk(folder, why);
    (void)puts(why);
    return *why ? EXIT_FAILURE : EXIT_SUCCESS;
}

int gw_worker_main(int argc, char **argv)
{
    static struct daemon daemon;
    struct gw_error error;
    if (argc == 3 && strcmp(argv[1], "--check-disk") == 0)
        return check_disk(argv[2]);
    gw_log_init("worker", GW_LOG_INFO);
    if (parse(&daemon, argc, argv) < 0)
        return EXIT_USAGE;
    gw_log_limit(daemon.log_max_bytes);
    set_limits();
    (void)prctl(PR_SET_NAME, "gangway-worker");
    (void)uv_loop_init(&daemon.loop);
    int rc = gw_threads_try(&error);
    if (rc == 0)
        rc = prepare(&daemon, &error);
    const bool watched = rc == 0;
    if (rc == 0) {
        daemon.options.told = &told;
        daemon.options.times = &times;
        /* Must come before gw_host_open, so that files of the host are removed after a signal, too
         */
        watch(&daemon);
        rc = gw_host_open(&daemon.loop, &daemon.options, &daemon.host, &error);
        /* Must come after gw_host_open, since the supervisor must be forked without threads */
        gw_threads_start(&daemon.loop);
        if (rc == 0 && configuration.read)
            (void)uv_signal_start(&daemon.hangup, daemon_on_reload, SIGHUP);
    }
    if (rc < 0)
        gw_log_error("%s", error.text);
    else
        end_with_parent(&daemon);
    serve(&daemon.loop);
    int exit_code = rc < 0 ? EXIT_FAILURE : daemon.host->exit_code;
    remove_own(&daemon);
    for (int i = 0; i < 2 && watched; i++)
        uv_close((uv_handle_t *)&daemon.signals[i], NULL);
    if (watched)
        uv_close((uv_handle_t *)&daemon.hangup, NULL);
    (void)uv_run(&daemon.loop, UV_RUN_DEFAULT);
    int busy = uv_loop_close(&daemon.loop);
    assert(busy == 0);
    return exit_code;
}
