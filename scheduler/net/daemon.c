/* The scheduler process: its options, its folder and its end.
 *
 * A cluster always ends in the same order, whatever the reason (a client's shutdown request, the
 * end of the lifeline, idleness, a removed folder, or SIGTERM to a private cluster): the core ends
 * all work within a time limit, the workers end, the sockets are closed, and a private folder is
 * removed.
 *
 * SIGTERM and SIGINT end only this process, not the cluster: facts are committed, connections are
 * closed without a message, and the workers wait for the next scheduler, as they do after SIGKILL.
 */
#include "scheduler/net/daemon.h"

#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/disk_kind.h"
#include "graph/base/log.h"
#include "graph/base/machine.h"
#include "graph/base/text.h"
#include "graph/base/user_dir.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/threads.h"
#include "graph/wire/token_file.h"
#include "scheduler/net/crew.h"
#include "scheduler/net/daemon_arguments.h"
#include "scheduler/net/port_note.h"
#include "scheduler/net/server.h"
#include "scheduler/net/server_effects.h"
#include "scheduler/net/tidy.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define YEAR_NS (365 * 24 * 3600 * GW_NS_PER_S) /* how long the accounting keeps jobs */
#define TAKE_OVER_NS (3 * GW_NS_PER_S)
enum { TAKE_OVER_POLL_US = 20000, TIDY_LOOKS = 10 };
enum { LATE_MS = 5000, GIVE_UP_MS = 9000 /* before `gangway up` gives up */, MISSING_BYTES = 400 };
enum { SHUTDOWN_MS_MAX = 15000, LOOK_MS = 2000, EXIT_USAGE = 2 };

struct daemon {
    uv_loop_t loop;
    struct gw_server *server;
    struct gw_crew *crew;
    struct gw_tidy *tidy;
    uint32_t looks;
    uv_signal_t signals[3];
    uv_poll_t lifeline;
    uv_timer_t idle, look;     /* look: for looks at the socket in the folder */
    uv_timer_t deadline, late; /* late: for workers that are late to register */
    struct gw_daemon_arguments given;
    char state_path[PATH_MAX]; /* the default, if no option names another folder */
    char tokens_path[PATH_MAX], peers_host[GW_ENDPOINT_TEXT_MAX];
    char accounting_path[PATH_MAX], audit_path[PATH_MAX];
    char lost[PATH_MAX + 600]; /* text about a lost folder or state; empty: none is lost */
    bool unfound;              /* the warning about the missing socket was logged */
    bool ending, told_late;
    bool leaving;     /* this process ends, but the cluster continues */
    bool is_given_up; /* ended before it was ready: workers that it started end, too */
    bool crew_closing;
};

/* -- The end ---------------------------------------------------------------------------------- */

static void daemon_on_crew_gone(void *arg)
{
    struct daemon *daemon = arg;
    uv_close((uv_handle_t *)&daemon->deadline, NULL);
}

/* Closes everything, after all work has ended or its time was over. The loop ends when its last
 * handle is closed. */
static void close_all(struct daemon *daemon)
{
    if (daemon->crew_closing)
        return;
    daemon->crew_closing = true;
    bool lost;
    if (daemon->given.listen && gw_server_look(daemon->server, &lost) == GW_LOCAL_OURS) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/address", daemon->given.dir);
        (void)unlink(path);
    }
    /* If no signal caused the end, a user's shutdown request did. In this case clients must not
     * wait for a next scheduler. */
    gw_server_close(daemon->server,
                    *daemon->lost    ? daemon->lost
                    : daemon->ending ? NULL
                                     : "this cluster was taken down",
                    daemon->leaving &&
                        (!daemon->is_given_up || gw_crew_lives_on(daemon->given.dir)));
    gw_tidy_close(daemon->tidy);
    uv_timer_stop(&daemon->deadline);
    for (int i = 0; i < 3; i++)
        uv_close((uv_handle_t *)&daemon->signals[i], NULL);
    uv_close((uv_handle_t *)&daemon->idle, NULL);
    uv_close((uv_handle_t *)&daemon->look, NULL);
    uv_close((uv_handle_t *)&daemon->late, NULL);
    if (daemon->given.lifeline_fd >= 0)
        uv_close((uv_handle_t *)&daemon->lifeline, NULL);
    if (daemon->leaving)
        gw_crew_leave(daemon->crew, daemon->is_given_up);
    else
        gw_crew_close(daemon->crew);
}

static void daemon_on_deadline(uv_timer_t *timer)
{
    const struct daemon *daemon = timer->data;
    gw_log_warn("some tasks did not end in time: the scheduler ends without waiting for them");
    gw_server_stop(daemon->server);
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

/* Ends this process only. The cluster continues. */
static void leave(struct daemon *daemon, const char *why)
{
    daemon->ending = daemon->leaving = true;
    daemon->is_given_up = daemon->is_given_up || daemon->given.ready_fd >= 0;
    gw_log_info(
        "%s: the workers continue their tasks for the next scheduler; `gangway down` ends them",
        why);
    (void)uv_timer_start(&daemon->deadline, daemon_on_deadline, SHUTDOWN_MS_MAX, 0);
    gw_server_stop(daemon->server);
}

/* Handles a state that is older than what workers report. The workers keep their tasks, as they do
 * if a damaged state is refused at the start. */
static void daemon_on_damaged(const struct gw_error *error, void *arg)
{
    struct daemon *daemon = arg;
    (void)snprintf(daemon->lost, sizeof daemon->lost, "%s", error->text);
    gw_log_error("%s", daemon->lost);
    daemon->ending = daemon->leaving = true;
    daemon->is_given_up = daemon->is_given_up || daemon->given.ready_fd >= 0;
    if (daemon->given.ready_fd >= 0) {
        (void)dprintf(daemon->given.ready_fd, "%s\n", daemon->lost);
        close(daemon->given.ready_fd);
        daemon->given.ready_fd = -1;
    }
    close_all(daemon);
}

/* -- Reasons to end --------------------------------------------------------------------------- */

static void daemon_on_idle(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;
    if (gw_server_idle_ns(daemon->server) >= daemon->given.idle_stop_s * GW_NS_PER_S)
        end(daemon, "no client used this cluster for the time of --idle-stop");
}

/* Starts or stops the timer of --idle-stop. */
static void watch_idle(struct daemon *daemon)
{
    const uint64_t stop_s = daemon->given.idle_stop_s;
    const uint64_t every_ms = stop_s * 250 < 10000 ? stop_s * 250 : 10000;
    if (stop_s > 0)
        (void)uv_timer_start(&daemon->idle, daemon_on_idle, every_ms, every_ms);
    else
        (void)uv_timer_stop(&daemon->idle);
}

/* The configuration file; see gw_daemon_configure. */
static struct {
    gw_daemon_read read;
    void *arg;
} configuration;

void gw_daemon_configure(gw_daemon_read read, void *arg)
{
    configuration.read = read;
    configuration.arg = arg;
}

/* Reads the configuration file, and follows its policy. */
static int follow(const struct daemon *daemon, struct gw_daemon_config *config,
                  struct gw_error *error)
{
    int rc = configuration.read(configuration.arg, config, error);
    return rc < 0 ? rc : gw_server_follow(daemon->server, config->policy, error);
}

static uint64_t scatter_memory(uint64_t given_bytes)
{
    return given_bytes ? given_bytes : gw_machine_memory_bytes() / 2;
}

/* 0: not given. Returns 0 if rows are never removed. */
static uint64_t retention(uint64_t given_ns)
{
    return given_ns == 0 ? YEAR_NS : given_ns == UINT64_MAX ? 0 : given_ns;
}

/* Does the same while the scheduler runs, when limits may change, too. */
static int reload(struct daemon *daemon, struct gw_daemon_config *config, struct gw_error *error)
{
    int rc = follow(daemon, config, error);
    if (rc < 0) {
        gw_log_error("the configuration file is refused, and nothing changes: %s", error->text);
        return rc;
    }
    daemon->given.idle_stop_s = config->idle_stop_s;
    watch_idle(daemon);
    gw_log_limit(config->log_max_bytes);
    gw_server_limit(daemon->server,
                    &(struct gw_server_limits){{config->pure_bytes_max,
                                                scatter_memory(config->scatter_memory_bytes),
                                                (uint32_t)config->history_jobs},
                                               config->audit_bytes_max,
                                               retention(config->accounting_retention_ns)});
    gw_log_info("the configuration file was read again");
    if (*config->restart)
        gw_log_warn("these options have changed, and need a restart of the scheduler: %s",
                    config->restart);
    return 0;
}

static void daemon_on_reload(uint64_t peer, uint64_t request, void *arg)
{
    struct daemon *daemon = arg;
    struct gw_daemon_config config;
    struct gw_error error;
    int rc = configuration.read
                 ? reload(daemon, &config, &error)
                 : gw_error_set(&error, GW_EINVAL,
                                "the scheduler was started without a configuration file "
                                "(`gangway scheduler --config FILE`)");
    gw_server_effects_reloaded(daemon->server, peer, request, rc < 0 ? "" : config.restart,
                               rc < 0 ? &error : NULL);
}

static void daemon_on_signal(uv_signal_t *handle, int signal)
{
    struct daemon *daemon = handle->data;
    const char *why = signal == SIGINT ? "interrupted" : "terminated";
    struct gw_error error;
    if (signal == SIGHUP) {
        if (!daemon->crew_closing)
            (void)reload(daemon, &(struct gw_daemon_config){0}, &error);
        return;
    }
    if (daemon->ending)
        gw_server_stop(daemon->server); /* the second signal */
    else if (daemon->given.private_cluster || gw_server_ends(daemon->server))
        end(daemon, why);
    else
        leave(daemon, why);
}

static void daemon_on_lifeline(uv_poll_t *poll, int status, int events)
{
    struct daemon *daemon = poll->data;
    char byte;
    (void)events;
    if (status >= 0 && read(daemon->given.lifeline_fd, &byte, 1) > 0)
        return;
    uv_poll_stop(poll);
    /* The client is gone: work ends without a grace period, and the workers kill their tasks. */
    daemon->ending = true;
    close_all(daemon);
}

/* Listens at a new socket if the socket was removed. systemd removes a user's runtime folder with
 * the user's last login. */
static bool listen_again(const struct daemon *daemon)
{
    char sockets[PATH_MAX];
    struct gw_error error;
    if (!daemon->given.is_default || access(daemon->given.dir, F_OK) < 0 ||
        gw_user_dir_socket(daemon->given.dir, sockets, &error) < 0 ||
        gw_server_listen_again(daemon->server, daemon->given.dir, sockets, &error) < 0)
        return false;
    gw_log_warn("the scheduler's socket was removed: a new one is in %s", sockets);
    return true;
}

/* Removes the folders of forgotten jobs. A job is forgotten when as many later jobs have ended as
 * the history holds. */
static void tidy(struct daemon *daemon)
{
    if (++daemon->looks % TIDY_LOOKS == 0)
        gw_tidy_look(daemon->tidy);
}

/* Checks that the socket and the state still exist. Without its socket, no process of this machine
 * can use or end the cluster. Without its state, the cluster cannot keep what it has promised. */
static void daemon_on_look(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;
    bool state_lost;
    const enum gw_local_place place = gw_server_look(daemon->server, &state_lost);
    if (place == GW_LOCAL_GONE && listen_again(daemon))
        return;
    const bool gone = place != GW_LOCAL_OURS && !daemon->given.listen;
    if (place != GW_LOCAL_OURS && !gone && !daemon->unfound) {
        daemon->unfound = true;
        gw_log_error(
            "%s/scheduler.sock %s: commands on this machine do not find this cluster any more; "
            "clients that connect to %s do, and `GANGWAY_ADDRESS=%s gangway down` shuts it down",
            daemon->given.dir,
            place == GW_LOCAL_GONE ? "was removed" : "belongs to another process",
            gw_server_address(daemon->server), gw_server_address(daemon->server));
    }
    if (!gone && !state_lost) {
        tidy(daemon);
        return;
    }
    (void)uv_timer_stop(timer);
    if (gone)
        (void)snprintf(daemon->lost, sizeof daemon->lost, "the cluster's folder %s %s",
                       daemon->given.dir,
                       place == GW_LOCAL_GONE ? "was removed" : "was taken by another cluster");
    else
        (void)snprintf(daemon->lost, sizeof daemon->lost, "the cluster's state in %s was removed",
                       daemon->given.state);
    gw_log_error("%s: no job can be saved any more, so all tasks end", daemon->lost);
    end(daemon, daemon->lost);
}

/* -- The start -------------------------------------------------------------------------------- */

static void daemon_on_worker(uint32_t workers, void *arg)
{
    struct daemon *daemon = arg;
    if (workers < daemon->given.workers || daemon->given.ready_fd < 0)
        return;
    if (write(daemon->given.ready_fd, "ready\n", 6) < 0)
        gw_log_warn("the command that started this cluster ended before the cluster was ready");
    close(daemon->given.ready_fd);
    daemon->given.ready_fd = -1;
}

/* Lists the workers that have not registered. Returns true if all of them are from an earlier
 * scheduler, so that they may still register. */
static bool list_missing(const struct daemon *daemon, char names[MISSING_BYTES])
{
    struct gw_text text = {names, MISSING_BYTES, 0};
    bool earlier = true;
    *names = '\0';
    for (uint32_t i = 0; i < daemon->given.workers; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "worker-%u", i + 1);
        if (gw_server_has_worker(daemon->server, name))
            continue;
        gw_text_say(&text, "%s%s (process %d)", *names ? ", " : "", name,
                    (int)gw_crew_who_lives_on(daemon->given.dir, i));
        earlier = earlier && gw_crew_lived_on(daemon->crew, i);
    }
    return earlier;
}

/* Tells the process that waits for readiness which workers are missing, before it gives up. A
 * worker of an earlier scheduler may be stopped or busy. In this case the cluster becomes ready
 * without it. */
static void daemon_on_late(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;
    char names[MISSING_BYTES];
    const bool last = daemon->told_late;
    if (daemon->given.ready_fd < 0 || daemon->ending)
        return;
    const bool earlier = list_missing(daemon, names);
    daemon->told_late = true;
    daemon->is_given_up = last && !earlier;
    gw_log_warn("waiting for %s", names);
    if (!earlier && !last) {
        (void)uv_timer_start(timer, daemon_on_late, GIVE_UP_MS - LATE_MS, 0);
        return;
    }
    if (dprintf(daemon->given.ready_fd,
                earlier ? "ready: %s of an earlier scheduler does not answer: it takes part as "
                          "soon as it does; if it was stopped, send it SIGCONT or SIGKILL\n"
                        : "%s does not register: see its log in the cluster's folder\n",
                names) < 0)
        gw_log_warn("the command that started this cluster ended before the cluster was ready");
    close(daemon->given.ready_fd);
    daemon->given.ready_fd = -1;
}

static void watch(struct daemon *daemon)
{
    uv_loop_t *loop = &daemon->loop;
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    for (int i = 0; i < 3; i++) {
        daemon->signals[i].data = daemon;
        (void)uv_signal_init(loop, &daemon->signals[i]);
        if (numbers[i] != SIGHUP || configuration.read)
            (void)uv_signal_start(&daemon->signals[i], daemon_on_signal, numbers[i]);
    }
    daemon->idle.data = daemon->deadline.data = daemon->lifeline.data = daemon;
    daemon->look.data = daemon;
    (void)uv_timer_init(loop, &daemon->idle);
    (void)uv_timer_init(loop, &daemon->look);
    if (!daemon->given.private_cluster) /* its client needs no socket and removes the folder */
        (void)uv_timer_start(&daemon->look, daemon_on_look, LOOK_MS, LOOK_MS);
    (void)uv_timer_init(loop, &daemon->deadline);
    daemon->late.data = daemon;
    (void)uv_timer_init(loop, &daemon->late);
    if (daemon->given.ready_fd >= 0)
        (void)uv_timer_start(&daemon->late, daemon_on_late, LATE_MS, 0);
    watch_idle(daemon);
    if (daemon->given.lifeline_fd >= 0) {
        (void)uv_poll_init(loop, &daemon->lifeline, daemon->given.lifeline_fd);
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

static bool daemon_knows_job(uint64_t job, void *arg)
{
    const struct daemon *daemon = arg;
    return gw_server_knows_job(daemon->server, job);
}

/* Folders of earlier terms are removed before any task runs. If a worker of an earlier scheduler is
 * alive, it may still write there, and it may know that the state is too old. Then all folders stay
 * until it has registered, and only later looks remove the folders of unknown jobs. */
static int set_orphaned_files_aside(struct daemon *daemon, struct gw_error *error)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%.*s/address", PATH_MAX - 16, daemon->given.dir);
    (void)unlink(path);
    daemon->tidy = gw_tidy_open(&daemon->loop, &(struct gw_tidy_options){
                                                   .dir = daemon->given.dir,
                                                   .knows = daemon_knows_job,
                                                   .arg = daemon,
                                               });
    return gw_crew_lives_on(daemon->given.dir) ? 0 : gw_tidy_begin(daemon->tidy, error);
}

/* Writes this scheduler's address into its folder, and tells its own workers the host by which
 * workers on other hosts reach them. instead_of: the address of the last term if another process
 * has it now, else NULL. */
static int note_address(struct daemon *daemon, const char *instead_of, struct gw_error *error)
{
    const char *address = gw_server_address(daemon->server);
    char path[PATH_MAX], made[PATH_MAX + 8];
    (void)snprintf(path, sizeof path, "%s/address", daemon->given.dir);
    (void)snprintf(made, sizeof made, "%s.new", path); /* nobody reads half of the file */
    FILE *file = fopen(made, "we");
    bool wrote = file && fprintf(file, "%s\n", address) > 0 &&
                 (!instead_of || fprintf(file, "%s\n", instead_of) > 0);
    if ((file && fclose(file) != 0) || !wrote || rename(made, path) < 0)
        return gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
    (void)snprintf(daemon->peers_host, sizeof daemon->peers_host, "%.*s",
                   (int)(strrchr(address, ':') - address), address);
    if (!daemon->given.peers)
        daemon->given.peers = daemon->peers_host;
    if (instead_of)
        gw_log_warn("another process listens at %s, the old address of this cluster: its workers "
                    "and clients must use %s now",
                    instead_of, address);
    return daemon->given.state ? gw_port_note_store(daemon->given.state, address, error) : 0;
}

/* Checks that the state is on a disk that survives a crash and a reboot. If the user named the
 * folder, a volatile disk is accepted, because the user may know better. */
static int check_disk(const struct daemon *daemon, struct gw_error *error)
{
    const enum gw_disk_kind kind = gw_disk_kind_of(daemon->given.state);
    const bool typed = !daemon->given.is_default || daemon->given.state != daemon->state_path;
    if (kind == GW_DISK_NETWORK)
        return gw_error_set(error, GW_EINVAL,
                            "the folder of the state, %s, is on a network file system, which may "
                            "damage the state: give one on a local disk by --state DIR",
                            daemon->given.state);
    if (kind == GW_DISK_VOLATILE && !typed)
        return gw_error_set(error, GW_EINVAL,
                            "the folder of the cluster's state, %s, is in memory, so a reboot "
                            "would lose all jobs: give a folder on a local disk by --state DIR",
                            daemon->given.state);
    if (kind == GW_DISK_VOLATILE)
        gw_log_warn("the state folder %s is in memory: a reboot loses all jobs",
                    daemon->given.state);
    return 0;
}

/* Chooses the folders of the state and of the socket ("": the cluster's folder). */
static int place_state(struct daemon *daemon, char sockets[PATH_MAX], struct gw_error *error)
{
    if (daemon->given.private_cluster)
        return 0;
    if (!daemon->given.state) {
        (void)snprintf(daemon->state_path, PATH_MAX, "%.*s/state", PATH_MAX - 8, daemon->given.dir);
        daemon->given.state = daemon->state_path;
    }
    int rc = check_disk(daemon, error);
    return rc < 0 || !daemon->given.is_default
               ? rc
               : gw_user_dir_socket(daemon->given.dir, sockets, error);
}

/* A cluster without a state folder ends with its client, and needs no accounting. */
static void place_accounting(struct daemon *daemon, struct gw_server_options *server)
{
    if (!daemon->given.state ||
        (daemon->given.accounting && strcmp(daemon->given.accounting, "none") == 0))
        return;
    (void)snprintf(daemon->accounting_path, PATH_MAX, "%.*s/accounting.db", PATH_MAX - 16,
                   daemon->given.state);
    server->accounting =
        daemon->given.accounting ? daemon->given.accounting : daemon->accounting_path;
    server->accounting_retention_ns = retention(daemon->given.accounting_retention_ns);
}

/* A private cluster ends with its client, and needs no audit log. */
static void place_audit(struct daemon *daemon, struct gw_server_options *server)
{
    const char *given = daemon->given.audit;
    server->audit_bytes_max = daemon->given.audit_bytes_max;
    (void)snprintf(daemon->audit_path, PATH_MAX, "%.*s/audit.jsonl", PATH_MAX - 16,
                   daemon->given.dir);
    if (given && strcmp(given, "none") != 0)
        server->audit = given;
    else if (!given && !daemon->given.private_cluster)
        server->audit = daemon->audit_path;
}

/* Waits a moment if another scheduler serves the folder: it may have been killed or stopped just
 * now. */
static int open_server(struct daemon *daemon, const struct gw_server_options *options,
                       struct gw_error *error)
{
    const uint64_t until_ns = gw_clock_now_ns() + TAKE_OVER_NS;
    int rc = gw_server_open(&daemon->loop, options, &daemon->server, error);
    while (rc == GW_EEXIST && gw_clock_now_ns() < until_ns) {
        (void)usleep(TAKE_OVER_POLL_US);
        rc = gw_server_open(&daemon->loop, options, &daemon->server, error);
    }
    return rc;
}

/* Starts the workers of this machine. */
static int open_crew(struct daemon *daemon, struct gw_error *error)
{
    struct gw_crew_options crew = {
        .dir = daemon->given.dir,
        .workers = daemon->given.workers,
        .slots = daemon->given.slots,
        .resources = daemon->given.resources,
        .peers = daemon->given.peers,
        .files_bytes_max = daemon->given.file_cache_bytes,
        .retained_bytes_max = daemon->given.retained_bytes_max,
        .transfer_bytes_max = daemon->given.transfer_bytes_max,
        .log_bytes_max = daemon->given.log_max_bytes,
        .memory = daemon->given.memory,
        .spill_dir = daemon->given.spill_dir,
        .private_cluster = daemon->given.private_cluster,
        .trust_users = daemon->given.trust_users,
        .orphan_ms = daemon->given.orphan_ms,
        .on_new = daemon_on_new_worker,
        .ends = daemon_ends,
        .on_gone = daemon_on_crew_gone,
        .arg = daemon,
    };
    int rc = gw_crew_open(&daemon->loop, &crew, &daemon->crew, error);
    if (rc < 0) {
        daemon->ending = true;
        close_all(daemon);
    } else if (daemon->given.workers == 0) {
        daemon_on_worker(0, daemon);
    }
    return rc;
}

static int start(struct daemon *daemon, struct gw_error *error)
{
    struct gw_server_options server = {
        .dir = daemon->given.dir,
        .pure_bytes_max = daemon->given.pure_bytes_max,
        .history_jobs = (uint32_t)daemon->given.history_jobs,
        .scattered_bytes_max = scatter_memory(daemon->given.scatter_memory_bytes),
        .files_bytes_max = daemon->given.file_cache_bytes,
        .on_worker = daemon_on_worker,
        .on_exit = daemon_on_exit,
        .on_reload = daemon_on_reload,
        .on_damaged = daemon_on_damaged,
        .arg = daemon,
        .tokens = daemon->given.tokens,
        .accept_loss = daemon->given.accept_loss,
    };
    char sockets[PATH_MAX] = "";
    int rc = gw_dir_make(daemon->given.dir, error);
    if (rc >= 0 && daemon->given.listen && !server.tokens) {
        rc = gw_token_file_default(daemon->tokens_path, error);
        server.tokens = daemon->tokens_path;
    }
    if (rc < 0 || (rc = place_state(daemon, sockets, error)) < 0)
        return rc;
    server.state = daemon->given.state;
    place_accounting(daemon, &server);
    place_audit(daemon, &server);
    server.sockets = *sockets ? sockets : NULL;
    char place[GW_ENDPOINT_TEXT_MAX] = "";
    enum gw_port_note note = GW_PORT_NONE;
    if (daemon->given.listen && daemon->given.state)
        note = gw_port_note_find(daemon->given.state, daemon->given.listen, place);
    server.listen = note == GW_PORT_FREE ? place : daemon->given.listen;
    rc = open_server(daemon, &server, error);
    if (rc < 0)
        return rc;
    if (configuration.read)
        rc = follow(daemon, &(struct gw_daemon_config){0}, error);
    if (rc == 0)
        rc = set_orphaned_files_aside(daemon,
                                      error); /* only after the server has locked the folder */
    if (rc >= 0 && daemon->given.listen)
        rc = note_address(daemon, note == GW_PORT_TAKEN ? place : NULL, error);
    if (rc < 0) {
        gw_tidy_close(daemon->tidy);
        gw_server_close(daemon->server, NULL, false);
        return rc;
    }
    if (!daemon->given.listen && !daemon->given.private_cluster)
        gw_log_info("listening at unix:%s/scheduler.sock, for this user", daemon->given.dir);
    watch(daemon);
    return open_crew(daemon, error);
}

/* Sets process limits. A private scheduler must not die by SIGPIPE, and a scheduler may need many
 * descriptors. */
static void set_limits(void)
{
    gw_machine_raise_descriptors();
    /* Large tables are mapped as pages of their own. Growing them moves pages, and unused pages
     * take no memory. On the heap, each doubled table would leave a hole that no later table fits
     * into. Messages are below this size. */
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a write beyond the file size limit gives an error instead */
}

int gw_daemon_main(int argc, char **argv)
{
    struct daemon daemon = {.given = {.orphan_ms = UINT64_MAX}};
    gw_log_init("scheduler", GW_LOG_INFO);
    if (gw_daemon_arguments_parse(&daemon.given, argc, argv) < 0)
        return EXIT_USAGE;
    gw_log_limit(daemon.given.log_max_bytes);
    set_limits();
    if (daemon.given.lifeline_fd >= 0)
        (void)fcntl(daemon.given.lifeline_fd, F_SETFD, FD_CLOEXEC);
    if (daemon.given.ready_fd >= 0)
        (void)fcntl(daemon.given.ready_fd, F_SETFD, FD_CLOEXEC);

    struct gw_error error;
    (void)uv_loop_init(&daemon.loop);
    int rc = gw_threads_try(&error);
    if (rc == 0) {
        gw_threads_start(&daemon.loop);
        rc = start(&daemon, &error);
    }
    if (rc < 0) {
        gw_log_error("%s", error.text);
        if (daemon.given.ready_fd >= 0)
            (void)dprintf(daemon.given.ready_fd, "%s\n", error.text);
    }
    (void)uv_run(&daemon.loop, UV_RUN_DEFAULT);
    int busy = uv_loop_close(&daemon.loop);
    assert(busy == 0);
    if (daemon.given.private_cluster && daemon.server &&
        gw_dir_remove(daemon.given.dir, &error) < 0)
        gw_log_warn("%s", error.text);
    return rc < 0 || *daemon.lost ? EXIT_FAILURE : EXIT_SUCCESS;
}
