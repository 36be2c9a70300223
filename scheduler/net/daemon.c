/* The scheduler process: options, its folder and its end.
 *
 * It ends in one order, whatever the cause (SIGTERM, the lifeline, idleness, a client's shutdown,
 * its folder gone):
 * the core ends all work (bounded), the workers go, the sockets close, a private folder is removed.
 */
#include "scheduler/net/daemon.h"

#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/base/machine.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/threads.h"
#include "graph/wire/token_file.h"
#include "graph/wire/uring.h"
#include "scheduler/net/crew.h"
#include "scheduler/net/port_note.h"
#include "scheduler/net/server.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHUTDOWN_MS_MAX = 15000, LOOK_MS = 2000, EXIT_USAGE = 2 };

struct daemon {
    uv_loop_t loop;
    struct gw_server *server;
    struct gw_crew *crew;
    uv_signal_t signals[2];
    uv_poll_t lifeline;
    uv_timer_t idle;
    uv_timer_t look; /* at the socket in the folder */
    uv_timer_t deadline;
    const char *dir, *state, *memory, *spill_dir;
    char state_path[PATH_MAX];   /* where nobody said another */
    const char *listen, *tokens; /* NULL: no TCP; the usual token file */
    char tokens_path[PATH_MAX], peers_host[GW_ENDPOINT_TEXT_MAX];
    const char *peers;     /* of all workers; NULL: none */
    const char *resources; /* of the first worker; NULL: none */
    uint32_t workers;
    uint32_t slots;
    uint64_t orphan_ms; /* of its workers; UINT64_MAX: their default */
    uint64_t idle_stop_s, pure_keep_bytes, file_cache_bytes, keep_files_bytes, carry_max_bytes;
    uint64_t scatter_memory_bytes, log_max_bytes;
    int lifeline_fd;
    int ready_fd;
    char lost[PATH_MAX + 64]; /* what became of the folder, or the state; empty: nothing */
    bool unfound;             /* it was said that commands on this machine do not find it */
    bool private_cluster;
    bool ending;
    bool crew_closing;
};

static int parse_number(const char *text, const char *option, uint64_t max, uint64_t *number)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno || *end || end == text || *text == '-' || n > max) {
        (void)fprintf(stderr, "gangway scheduler: --%s %s is not a number up to %llu\n", option,
                      text, (unsigned long long)max);
        return GW_EINVAL;
    }
    *number = n;
    return 0;
}

static const struct option option_table[] = {
    {"dir", required_argument, NULL, 'd'},
    {"workers", required_argument, NULL, 'w'},
    {"slots", required_argument, NULL, 's'},
    {"private", no_argument, NULL, 'p'},
    {"lifeline", required_argument, NULL, 'l'},
    {"ready-fd", required_argument, NULL, 'r'},
    {"idle-stop", required_argument, NULL, 'i'},
    {"resources", required_argument, NULL, 'R'},
    {"peers", required_argument, NULL, 'e'},
    {"memory", required_argument, NULL, 'm'},
    {"spill-dir", required_argument, NULL, 'S'},
    {"pure-keep", required_argument, NULL, 'k'},
    {"scatter-memory", required_argument, NULL, 'M'},
    {"file-cache", required_argument, NULL, 'f'},
    {"keep-files", required_argument, NULL, 'K'},
    {"listen", required_argument, NULL, 'L'},
    {"tokens", required_argument, NULL, 't'},
    {"state", required_argument, NULL, 'D'},
    {"carry-max", required_argument, NULL, 'C'},
    {"orphan-timeout", required_argument, NULL, 'o'},
    {"log-max", required_argument, NULL, 'g'},
    {NULL, 0, NULL, 0},
};

/* How much is kept, and for how long; GW_EINVAL: it is none of those. */
static int parse_kept(struct daemon *daemon, int option)
{
    if (option == 'i')
        return parse_number(optarg, "idle-stop", UINT32_MAX, &daemon->idle_stop_s);
    if (option == 'o')
        return parse_number(optarg, "orphan-timeout", GW_ORPHAN_MS_MAX, &daemon->orphan_ms);
    if (option == 'k')
        return parse_number(optarg, "pure-keep", UINT64_MAX, &daemon->pure_keep_bytes);
    if (option == 'M')
        return parse_number(optarg, "scatter-memory", UINT64_MAX, &daemon->scatter_memory_bytes);
    if (option == 'C')
        return parse_number(optarg, "carry-max", UINT64_MAX, &daemon->carry_max_bytes);
    if (option == 'g')
        return parse_number(optarg, "log-max", UINT64_MAX, &daemon->log_max_bytes);
    if (option == 'f')
        return parse_number(optarg, "file-cache", UINT64_MAX, &daemon->file_cache_bytes);
    if (option == 'K')
        return parse_number(optarg, "keep-files", UINT64_MAX, &daemon->keep_files_bytes);
    return GW_EINVAL;
}

static int parse(struct daemon *daemon, int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t workers = 0, slots = cores > 0 ? (uint64_t)cores : 1, lifeline = 0, ready = 0;
    int rc = 0, option;
    daemon->lifeline_fd = daemon->ready_fd = -1;
    optind = 1;
    while (rc >= 0 && (option = getopt_long(argc, argv, "", option_table, NULL)) >= 0) {
        switch (option) {
        case 'd':
            daemon->dir = optarg;
            break;
        case 'w':
            rc = parse_number(optarg, "workers", 1024, &workers);
            break;
        case 's':
            rc = parse_number(optarg, "slots", 4096, &slots);
            break;
        case 'p':
            daemon->private_cluster = true;
            break;
        case 'l':
            rc = parse_number(optarg, "lifeline", INT_MAX, &lifeline);
            daemon->lifeline_fd = (int)lifeline;
            break;
        case 'r':
            rc = parse_number(optarg, "ready-fd", INT_MAX, &ready);
            daemon->ready_fd = (int)ready;
            break;
        case 'm':
            daemon->memory = optarg;
            break;
        case 'S':
            daemon->spill_dir = optarg;
            break;
        case 'e':
            daemon->peers = optarg;
            break;
        case 'R':
            daemon->resources = optarg;
            break;
        case 'L':
            daemon->listen = optarg;
            break;
        case 't':
            daemon->tokens = optarg;
            break;
        case 'D':
            daemon->state = optarg;
            break;
        default:
            rc = parse_kept(daemon, option);
        }
    }
    if (rc >= 0 && (!daemon->dir || optind != argc || slots == 0)) {
        (void)fprintf(stderr, "gangway scheduler: wants --dir DIR and at least one slot, and no "
                              "further arguments; `gangway up` starts it with what it needs\n");
        return GW_EINVAL;
    }
    daemon->workers = (uint32_t)workers;
    daemon->slots = slots < workers ? (uint32_t)workers : (uint32_t)slots;
    return rc;
}

/* -- The end -------------------------------------------------------------------------------------
 */

static void daemon_on_crew_gone(void *arg)
{
    struct daemon *daemon = arg;
    uv_close((uv_handle_t *)&daemon->deadline, NULL);
}

/* All work has ended, or had its time: everything closes, the loop runs empty. */
static void close_all(struct daemon *daemon)
{
    if (daemon->crew_closing)
        return;
    daemon->crew_closing = true;
    bool lost;
    if (daemon->listen && gw_server_look(daemon->server, &lost) == GW_LOCAL_OURS) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/address", daemon->dir);
        (void)unlink(path);
    }
    /* Who was not told by a signal was told by a user: then none comes next. */
    gw_server_close(daemon->server, *daemon->lost    ? daemon->lost
                                    : daemon->ending ? NULL
                                                     : "this cluster was taken down");
    uv_timer_stop(&daemon->deadline);
    for (int i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&daemon->signals[i], NULL);
    uv_close((uv_handle_t *)&daemon->idle, NULL);
    uv_close((uv_handle_t *)&daemon->look, NULL);
    if (daemon->lifeline_fd >= 0)
        uv_close((uv_handle_t *)&daemon->lifeline, NULL);
    gw_crew_close(daemon->crew);
}

static void daemon_on_deadline(uv_timer_t *timer)
{
    gw_log_warn("work did not end in time: closing all the same");
    close_all(timer->data);
}

static void daemon_on_exit(void *arg)
{
    close_all(arg);
}

static void end(struct daemon *daemon, const char *why)
{
    if (daemon->ending)
        return;
    daemon->ending = true;
    gw_log_info("ending: %s", why);
    (void)uv_timer_start(&daemon->deadline, daemon_on_deadline, SHUTDOWN_MS_MAX, 0);
    gw_server_shutdown(daemon->server, why);
}

/* -- What makes it end ---------------------------------------------------------------------------
 */

static void daemon_on_signal(uv_signal_t *handle, int signal)
{
    struct daemon *daemon = handle->data;
    if (daemon->ending)
        close_all(daemon); /* told twice */
    else
        end(daemon, signal == SIGINT ? "interrupted" : "terminated");
}

static void daemon_on_lifeline(uv_poll_t *poll, int status, int events)
{
    struct daemon *daemon = poll->data;
    char byte;
    (void)events;
    if (status >= 0 && read(daemon->lifeline_fd, &byte, 1) > 0)
        return;
    uv_poll_stop(poll);
    /* The client is gone and nobody is left to wait for: no grace. Workers bury what they run. */
    daemon->ending = true;
    close_all(daemon);
}

static void daemon_on_idle(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;
    if (gw_server_idle_ns(daemon->server) >= daemon->idle_stop_s * GW_NS_PER_S)
        end(daemon, "nobody used this cluster for the time that --idle-stop gives");
}

/* Without its socket nobody on this machine finds this cluster, to use it or to end it; without its
 * state it could keep no promise. */
static void daemon_on_look(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;
    bool state_lost;
    const enum gw_local_place place = gw_server_look(daemon->server, &state_lost);
    const bool gone = place != GW_LOCAL_OURS && !daemon->listen;
    if (place != GW_LOCAL_OURS && !gone && !daemon->unfound) {
        daemon->unfound = true;
        gw_log_error("%s/scheduler.sock %s: commands on this machine do not find this cluster any "
                     "more; who comes by %s does, and SIGTERM to process %d ends it",
                     daemon->dir, place == GW_LOCAL_GONE ? "was removed" : "is another's",
                     gw_server_address(daemon->server), (int)getpid());
    }
    if (!gone && !state_lost)
        return;
    (void)uv_timer_stop(timer);
    if (gone)
        (void)snprintf(daemon->lost, sizeof daemon->lost, "the cluster's folder %s %s", daemon->dir,
                       place == GW_LOCAL_GONE ? "was removed under it"
                                              : "was taken by another one");
    else
        (void)snprintf(daemon->lost, sizeof daemon->lost,
                       "the cluster's state in %s was removed under it", daemon->state);
    gw_log_error("%s: no job can be kept any more, and what runs is ended", daemon->lost);
    end(daemon, daemon->lost);
}

/* -- The beginning -------------------------------------------------------------------------------
 */

static void daemon_on_worker(uint32_t workers, void *arg)
{
    struct daemon *daemon = arg;
    if (workers < daemon->workers || daemon->ready_fd < 0)
        return;
    if (write(daemon->ready_fd, "ready\n", 6) < 0)
        gw_log_warn("nobody waits for this cluster to be ready");
    close(daemon->ready_fd);
    daemon->ready_fd = -1;
}

static void watch(struct daemon *daemon)
{
    uv_loop_t *loop = &daemon->loop;
    static const int numbers[] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; i++) {
        daemon->signals[i].data = daemon;
        (void)uv_signal_init(loop, &daemon->signals[i]);
        (void)uv_signal_start(&daemon->signals[i], daemon_on_signal, numbers[i]);
    }
    daemon->idle.data = daemon->deadline.data = daemon->lifeline.data = daemon;
    daemon->look.data = daemon;
    (void)uv_timer_init(loop, &daemon->idle);
    (void)uv_timer_init(loop, &daemon->look);
    if (!daemon->private_cluster) /* whose client needs no socket, and takes it along */
        (void)uv_timer_start(&daemon->look, daemon_on_look, LOOK_MS, LOOK_MS);
    (void)uv_timer_init(loop, &daemon->deadline);
    if (daemon->idle_stop_s > 0) {
        uint64_t every_ms = daemon->idle_stop_s * 250 < 10000 ? daemon->idle_stop_s * 250 : 10000;
        (void)uv_timer_start(&daemon->idle, daemon_on_idle, every_ms, every_ms);
    }
    if (daemon->lifeline_fd >= 0) {
        (void)uv_poll_init(loop, &daemon->lifeline, daemon->lifeline_fd);
        (void)uv_poll_start(&daemon->lifeline, UV_READABLE | UV_DISCONNECT, daemon_on_lifeline);
    }
}

static bool daemon_ends(void *arg)
{
    const struct daemon *daemon = arg;
    return daemon->ending || gw_server_ends(daemon->server);
}

static void daemon_on_new_worker(const char *name, void *arg)
{
    const struct daemon *daemon = arg;
    gw_server_worker_gone(daemon->server, name);
}

/* What lies in a folder by the number of a job that is there no more is removed; so is all else,
 * unless a worker lives on that may write it. */
static int tidy_jobs(const struct daemon *daemon, const char *name, struct gw_error *error)
{
    char folder[PATH_MAX], path[PATH_MAX];
    int rc = 0;
    (void)snprintf(folder, sizeof folder, "%.*s/%s", PATH_MAX - 16, daemon->dir, name);
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && rc == 0 && (entry = readdir(dir))) {
        char *end;
        unsigned long long job = strtoull(entry->d_name, &end, 10);
        bool named = end != entry->d_name && *end == '\0';
        if (entry->d_name[0] == '.' || (named && gw_server_knows_job(daemon->server, job)) ||
            (!named && gw_crew_lives_on(daemon->dir)))
            continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < PATH_MAX &&
            unlink(path) < 0)
            rc = gw_dir_remove(path, error);
    }
    if (dir)
        closedir(dir);
    return rc;
}

/* What an earlier life left of its own would pass for ours. */
static int remove_leftovers(const struct daemon *daemon, struct gw_error *error)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%.*s/address", PATH_MAX - 16, daemon->dir);
    (void)unlink(path);
    int rc = tidy_jobs(daemon, "checkpoints", error);
    return rc < 0 ? rc : tidy_jobs(daemon, "logs", error);
}

/* Tells who looks into the folder where this scheduler is reached, and our own workers by which
 * address other hosts' reach them: the same. instead_of: where its last life was, and somebody else
 * is now; NULL: nobody is. */
static int note_address(struct daemon *daemon, const char *instead_of, struct gw_error *error)
{
    const char *address = gw_server_address(daemon->server);
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/address", daemon->dir);
    FILE *file = fopen(path, "we");
    bool wrote = file && fprintf(file, "%s\n", address) > 0 &&
                 (!instead_of || fprintf(file, "%s\n", instead_of) > 0);
    if ((file && fclose(file) != 0) || !wrote)
        return gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
    (void)snprintf(daemon->peers_host, sizeof daemon->peers_host, "%.*s",
                   (int)(strrchr(address, ':') - address), address);
    if (!daemon->peers)
        daemon->peers = daemon->peers_host;
    if (instead_of)
        gw_log_warn("somebody else listens at %s, where workers and clients of this cluster look "
                    "for it: it is at %s now",
                    instead_of, address);
    return daemon->state ? gw_port_note_keep(daemon->state, address, error) : 0;
}

static int start(struct daemon *daemon, struct gw_error *error)
{
    struct gw_server_options server = {
        .dir = daemon->dir,
        .pure_keep_bytes = daemon->pure_keep_bytes,
        .scattered_bytes_max = daemon->scatter_memory_bytes ? daemon->scatter_memory_bytes
                                                            : gw_machine_memory_bytes() / 2,
        .files_bytes_max = daemon->file_cache_bytes,
        .on_worker = daemon_on_worker,
        .on_exit = daemon_on_exit,
        .arg = daemon,
        .listen = daemon->listen,
        .tokens = daemon->tokens,
    };
    int rc = gw_dir_make(daemon->dir, error);
    if (rc >= 0 && daemon->listen && !server.tokens) {
        rc = gw_token_file_default(daemon->tokens_path, error);
        server.tokens = daemon->tokens_path;
    }
    if (rc < 0)
        return rc;
    if (!daemon->private_cluster && !daemon->state) {
        (void)snprintf(daemon->state_path, PATH_MAX, "%.*s/state", PATH_MAX - 8, daemon->dir);
        daemon->state = daemon->state_path;
    }
    server.state = daemon->state;
    char place[GW_ENDPOINT_TEXT_MAX] = "";
    enum gw_port_note note = GW_PORT_NONE;
    if (daemon->listen && daemon->state)
        note = gw_port_note_find(daemon->state, daemon->listen, place);
    if (note == GW_PORT_FREE)
        server.listen = place;
    rc = gw_server_open(&daemon->loop, &server, &daemon->server, error);
    if (rc < 0)
        return rc;
    rc = remove_leftovers(daemon, error); /* the folder is ours now */
    if (rc >= 0 && daemon->listen)
        rc = note_address(daemon, note == GW_PORT_TAKEN ? place : NULL, error);
    if (rc < 0) {
        gw_server_close(daemon->server, NULL);
        return rc;
    }
    watch(daemon);
    struct gw_crew_options crew = {
        .dir = daemon->dir,
        .workers = daemon->workers,
        .slots = daemon->slots,
        .resources = daemon->resources,
        .peers = daemon->peers,
        .files_bytes_max = daemon->file_cache_bytes,
        .kept_bytes_max = daemon->keep_files_bytes,
        .carry_bytes_max = daemon->carry_max_bytes,
        .log_bytes_max = daemon->log_max_bytes,
        .memory = daemon->memory,
        .spill_dir = daemon->spill_dir,
        .private_cluster = daemon->private_cluster,
        .orphan_ms = daemon->orphan_ms,
        .on_new = daemon_on_new_worker,
        .ends = daemon_ends,
        .on_gone = daemon_on_crew_gone,
        .arg = daemon,
    };
    rc = gw_crew_open(&daemon->loop, &crew, &daemon->crew, error);
    if (rc < 0) {
        daemon->ending = true;
        close_all(daemon);
    } else if (daemon->workers == 0) {
        daemon_on_worker(0, daemon);
    }
    return rc;
}

/* Links take a ring where there is one. Not with TCP: TLS reads for itself, and each turn would be
 * a call more. */
static int open_ring(struct daemon *daemon, struct gw_error *error)
{
    const char *wanted = getenv("GANGWAY_IO");
    struct gw_error why;
    if (wanted && strcmp(wanted, "epoll") != 0 && strcmp(wanted, "io_uring") != 0)
        return gw_error_set(error, GW_EINVAL,
                            "GANGWAY_IO is \"%s\": give epoll or io_uring, or leave it out",
                            wanted);
    if (wanted && strcmp(wanted, "epoll") == 0)
        gw_log_debug("links wait by epoll: GANGWAY_IO says so");
    else if (daemon->listen)
        gw_log_debug("links wait by epoll: with TCP there would be nothing to gain");
    else if (gw_uring_open(&daemon->loop, &why) < 0)
        gw_log_debug("links wait by epoll: %s", why.text);
    else
        gw_log_debug("links wait by io_uring");
    return 0;
}

/* A private scheduler must not outlive a broken pipe's signal, and may hold many descriptors. */
static void set_limits(void)
{
    gw_machine_raise_descriptors();
    /* Tables that double are moved as pages, and what is not used yet takes none; in the heap each
     * leaves a hole behind that no later one fits. Messages stay below. */
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file at its limit is an error, no signal */
}

int gw_scheduler_main(int argc, char **argv)
{
    struct daemon daemon = {.orphan_ms = UINT64_MAX};
    gw_log_init("scheduler", GW_LOG_INFO);
    if (parse(&daemon, argc, argv) < 0)
        return EXIT_USAGE;
    gw_log_limit(daemon.log_max_bytes);
    set_limits();
    if (daemon.lifeline_fd >= 0)
        (void)fcntl(daemon.lifeline_fd, F_SETFD, FD_CLOEXEC);
    if (daemon.ready_fd >= 0)
        (void)fcntl(daemon.ready_fd, F_SETFD, FD_CLOEXEC);

    struct gw_error error;
    (void)uv_loop_init(&daemon.loop);
    int rc = gw_threads_try(&error);
    if (rc == 0) {
        gw_threads_start(&daemon.loop);
        rc = open_ring(&daemon, &error);
    }
    if (rc == 0)
        rc = start(&daemon, &error);
    if (rc < 0) {
        gw_log_error("%s", error.text);
        if (daemon.ready_fd >= 0)
            (void)dprintf(daemon.ready_fd, "%s\n", error.text);
    }
    (void)gw_uring_run(&daemon.loop, UV_RUN_DEFAULT);
    gw_uring_close(&daemon.loop);
    int busy = uv_loop_close(&daemon.loop);
    assert(busy == 0);
    if (daemon.private_cluster && daemon.server && gw_dir_remove(daemon.dir, &error) < 0)
        gw_log_warn("%s", error.text);
    return rc < 0 || *daemon.lost ? EXIT_FAILURE : EXIT_SUCCESS;
}
