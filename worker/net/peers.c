/* Connections with the scheduler, the supervisor, runners and other workers: their messages and
 * their end.
 *
 * Invariant: the core gets OPEN for a connection only after the peer is known. */
#include "worker/net/peers.h"

#include "worker/net/checkpoints/orphaned_files.h"

#include "graph/base/clock.h"
#include "graph/base/log.h"
#include "graph/base/text.h"
#include "graph/wire/content.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"
#include "graph/wire/timeouts.h"
#include "worker/net/checkpoints/transfer.h"
#include "worker/net/link/host_link.h"
#include "worker/net/link/reconnect.h"
#include "worker/net/link/send.h"
#include "worker/net/link/shut_down.h"
#include "worker/net/link/state.h"
#include "worker/net/link/step.h"
#include "worker/net/tasks/runners.h"
#include "worker/net/tasks/task_socket.h"
#include "worker/net/tasks/tunnels.h"
#include "worker/net/tasks/users.h"

#include <errno.h>
#include <fcntl.h>
#include <gangway/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RECONNECT_MS_FIRST = 200,
    RECONNECT_MS_MAX = 2000,
    /* Longest pause if something answers that is not the scheduler, and nothing runs here */
    REFUSED_MS_MAX = 30000,
    WELCOME_MS_MAX = 5000,
};

/* Reports the first welcome to the process that started this worker. */
static void say_ready(struct gw_host *host)
{
    if (!host->options.ready_fd)
        return;
    if (write(host->options.ready_fd, "ready\n", 6) < 0)
        gw_log_warn("the program that started this worker ended before the worker was ready");
    close(host->options.ready_fd);
    host->options.ready_fd = 0;
}

void gw_peers_close(struct gw_host *host)
{
    size_t at = 0;
    uint64_t key, value;
    const struct gw_message words = {.type = GW_MESSAGE_refuse, .refuse = {0, host->last_words}};
    if (host->last_words && host->scheduler && !host->reconnect.broken)
        gw_host_send_scheduler(&words, host);
    while (gw_map_next(&host->links, &at, &key, &value)) {
        struct gw_host_link *link = (struct gw_host_link *)(uintptr_t)value;
        if (!link->closed && !(link == host->scheduler && host->reconnect.broken))
            gw_link_close(link->link);
    }
    if (host->reconnect.broken) {
        host->reconnect.broken = false;
        gw_peers_link_gone(host->scheduler, &host->reconnect.why);
    }
}

/* -- Closing -------------------------------------------------------------------------------------
 */

static void reconnect_on_timer(uv_timer_t *timer)
{
    gw_peers_connect_scheduler(timer->data);
}

static void reconnect_later(struct gw_host *host, uint64_t pause_ms_max)
{
    (void)uv_timer_start(&host->reconnect_timer, reconnect_on_timer, host->reconnect_ms, 0);
    host->reconnect_ms *= 2;
    if (host->reconnect_ms > pause_ms_max)
        host->reconnect_ms = pause_ms_max;
}

/* Writes "PID SLOTS 1" to the file of --alive, or 0 instead of 1 if there is no scheduler. A
 * program that would start another worker in place of this one reads it. */
static void tell_alive(const struct gw_host *host, bool known)
{
    char text[64];
    int bytes =
        snprintf(text, sizeof text, "%d %u %d\n", (int)getpid(), host->options.slots, known);
    if (host->options.alive_fd > 0 &&
        (ftruncate(host->options.alive_fd, 0) < 0 ||
         pwrite(host->options.alive_fd, text, (size_t)bytes, 0) != bytes))
        gw_log_warn("cannot write to the --alive file that this worker has connected: %s",
                    strerror(errno));
}

/* Handles that there is no scheduler or no route to it. A worker of `gangway up --hosts` would be
 * ended by nobody, so it ends itself after the orphan timeout. */
static void on_alone(struct gw_host *host)
{
    const uint64_t now_ns = gw_clock_now_ns(), limit_ns = host->options.orphan_ms * GW_NS_PER_MS;
    char limit[GW_TEXT_DURATION_ROOM];
    if (!host->alone_ns) {
        host->alone_ns = now_ns;
        tell_alive(host, false);
    }
    if (!host->options.alive_fd || host->exiting || now_ns - host->alone_ns < limit_ns)
        return;
    gw_log_warn("no scheduler was reachable for %s (--orphan-timeout): this worker shuts down",
                gw_text_duration(limit_ns, limit));
    gw_shut_down(host);
}

/* Handles a refused connection, which proves that no scheduler runs: tasks may run on for a while.
 * After that time, a worker of a scheduler on this host shuts down, since its scheduler will not
 * come back. */
static void on_nobody(struct gw_host *host, uint64_t begun_ns)
{
    char limit[GW_TEXT_DURATION_ROOM];
    uint64_t now_ns = gw_clock_now_ns();
    gw_text_duration(host->options.orphan_ms * GW_NS_PER_MS, limit);
    bool over =
        host->refused_ns && now_ns - host->refused_ns >= host->options.orphan_ms * GW_NS_PER_MS;
    if (!host->refused_ns) {
        host->refused_ns = now_ns;
        if (host->was_welcomed)
            gw_log_info("no scheduler is running: tasks on this worker go on for up to %s "
                        "(--orphan-timeout)",
                        limit);
    }
    (void)gw_host_step(host, &(struct gw_event){.type = GW_EVENT_REFUSED, .number = begun_ns});
    if (!over || host->exiting || host->orphan_said)
        return;
    host->orphan_said = true;
    if (host->was_welcomed)
        gw_log_warn("no scheduler came back within %s (--orphan-timeout): the tasks on this "
                    "worker were killed",
                    limit);
    if (!host->options.connect)
        gw_shut_down(host);
}

/* Returns the longest pause before the next attempt to connect. If the peer answers but cannot
 * prove that it is the scheduler, the worker does not give up: something may stand between the two,
 * and tasks live until the fence. The pause is longer after the fence. */
static uint64_t pause_ms_max(const struct gw_host *host, const struct gw_error *error)
{
    const bool answers = error->code == GW_EPERM || error->code == GW_EPROTO;
    const bool fenced = host->alone_ns && gw_clock_now_ns() - host->alone_ns >= GW_FENCE_NS;
    return answers && fenced ? REFUSED_MS_MAX : RECONNECT_MS_MAX;
}

static void on_scheduler_closed(struct gw_host *host, const struct gw_error *error, bool refused)
{
    bool welcomed = host->welcomed;
    const uint64_t begun_ns = host->scheduler->opened_ns;
    host->scheduler = NULL;
    host->welcomed = host->scheduler_slow = false;
    gw_follow_forget(host->follow);
    gw_tunnels_forget(host->tunnels);
    /* Nothing runs here yet, so nothing is lost */
    if (error->code == GW_EPERM && !host->was_welcomed) {
        gw_log_error("the scheduler does not know the token of this worker (%s): it was revoked, "
                     "or belongs to another cluster; `gangway token create --role worker` on the "
                     "scheduler's machine makes a new one",
                     error->text);
        host->exit_code = EXIT_FAILURE;
        gw_shut_down(host);
    } else if (welcomed || !host->options.connect) {
        host->reconnect_ms = RECONNECT_MS_FIRST;
        (void)uv_timer_start(&host->reconnect_timer, reconnect_on_timer, 0, 0);
    } else { /* connecting itself failed */
        gw_host_link_say_absent(host, error);
        reconnect_later(host, pause_ms_max(host, error));
    }
    if (refused)
        on_nobody(host, begun_ns);
    on_alone(host);
}

/* Ends the processes of a user whose supervisor has ended. */
static void on_user_gone(struct gw_host *host, const struct gw_host_link *link)
{
    struct gw_message owed, filled;
    while (gw_users_on_gone(host, link, &owed)) {
        if (!host->supervisor || gw_tunnels_on_supervisor(host->tunnels, &owed))
            continue;
        const struct gw_message *message = gw_host_on_supervisor_message(host, &owed, &filled);
        (void)gw_step_message(host->supervisor, message, NULL, 0);
        if (owed.type == GW_MESSAGE_reaped)
            gw_runners_tidy(host, owed.reaped.process);
        else if (owed.type == GW_MESSAGE_spawned)
            gw_runners_tidy(host, owed.spawned.process);
    }
}

void gw_peers_link_gone(struct gw_host_link *link, const struct gw_error *error)
{
    struct gw_host *host = link->host;
    const bool refused = link->transport && gw_tls_refused(link->transport);
    const bool ours = link == host->scheduler || link->role == GW_ROLE_SCHEDULER;
    link->closed = true;
    gw_map_remove(&host->links, link->id);
    gw_shut_down_heed(host);
    gw_greetings_remove(&host->greetings, &link->greeting);
    if (error->code == GW_EPROTO && (!ours || host->welcomed))
        gw_log_warn("closed a connection that sent malformed data: %s", error->text);
    else if (link->transport && !ours && error->code < 0 && error->code != GW_ECLOSED)
        gw_log_warn("a connection to another worker was closed: %s", error->text);
    if (link->role == GW_ROLE_PEER)
        gw_transfer_on_gone(link);
    if (link->role == GW_ROLE_RUNNER)
        gw_host_on_runner_closed(host, link->process);
    if (link->role == GW_ROLE_SUPERVISOR && link != host->supervisor && !host->exiting)
        on_user_gone(host, link);
    if (link == host->supervisor)
        host->supervisor = NULL;
    if (!host->exiting && link->told_core) {
        if (link->role == GW_ROLE_SUPERVISOR) {
            gw_log_error("the process that starts this worker's tasks (its supervisor) has ended, "
                         "so this worker shuts down");
            host->exit_code = EXIT_FAILURE;
        }
        (void)gw_host_step(host, &(struct gw_event){.type = GW_EVENT_CLOSE,
                                                    .peer = {link->id},
                                                    .code = error->code,
                                                    .text = error->text});
    }
    if (link->role == GW_ROLE_RUNNER)
        gw_runners_tidy(host, link->process);
    if (link == host->scheduler && !host->exiting)
        on_scheduler_closed(host, error, refused);
    free(link);
}

void gw_peers_on_close(struct gw_link *handle, const struct gw_error *error, void *arg)
{
    struct gw_host_link *link = arg;
    struct gw_host *host = link->host;
    (void)handle;
    if (link == host->reconnect.second)
        gw_host_reconnect_on_second_closed(host, error);
    if (link == host->scheduler && gw_host_reconnect_on_broken(host, error))
        return;
    gw_peers_link_gone(link, error);
}

static void refuse(struct gw_host_link *link, int code, const char *text)
{
    struct gw_message message = {.type = GW_MESSAGE_refuse, .refuse = {code, text}};
    if (link->closed)
        return;
    (void)gw_link_send(link->link, &message, (struct gw_channel_fds){0});
    gw_link_close(link->link);
}

/* -- Messages ------------------------------------------------------------------------------------
 */

/* Returns true if an incoming connection belongs to this cluster. Over TLS, the peer has proven
 * this by the handshake. On a unix socket, its user must be the same. */
static bool is_ours(const struct gw_host_link *link, bool task)
{
    struct ucred peer;
    if (link->transport)
        return gw_tls_identity(link->transport) != NULL;
    if (task && link->host->options.separate_users)
        return true; /* its user was checked, and its secret will be */
    return gw_link_peer(link->link, &peer) == 0 && peer.uid == geteuid();
}

static void on_peer_hello(struct gw_host_link *link, const struct gw_message *message)
{
    struct gw_error error;
    const bool task = message->type == GW_MESSAGE_hello && message->hello.role == GW_ROLE_TASK &&
                      !link->transport;
    if (message->type != GW_MESSAGE_hello || (message->hello.role != GW_ROLE_PEER && !task)) {
        refuse(link, GW_EPROTO,
               "only workers may connect here, and hello must be the first message");
    } else if (message->hello.protocol != GW_PROTOCOL_LINK) {
        gw_error_set(&error, GW_EVERSION,
                     "this worker is Gangway %s (protocol %d), you are %.64s (protocol %u): "
                     "install one version on both sides",
                     GANGWAY_VERSION, GW_PROTOCOL_LINK, message->hello.version,
                     message->hello.protocol);
        refuse(link, error.code, error.text);
    } else if (!is_ours(link, task)) {
        refuse(link, GW_EPERM, "this worker belongs to another user");
    } else if (task) {
        gw_task_socket_answer(link, &message->hello);
    } else {
        link->role = GW_ROLE_PEER;
        link->told_core = true;
        gw_greetings_remove(&link->host->greetings, &link->greeting);
        (void)gw_host_step(link->host, &(struct gw_event){.type = GW_EVENT_OPEN,
                                                          .peer = {link->id},
                                                          .uid = geteuid(),
                                                          .role = GW_ROLE_PEER});
    }
}

static void on_refused(struct gw_host *host, const struct gw_msg_refuse *message)
{
    gw_log_error("the scheduler refused this worker: %s", message->text);
    if (message->code == GW_EVERSION || message->code == GW_EPERM) {
        host->exit_code = EXIT_FAILURE;
        gw_shut_down(host);
    }
}

/* Handles messages of the scheduler that are not for the core. Returns false if the core must get
 * the message. */
static bool from_scheduler(struct gw_host *host, const struct gw_message *message, const int *fds,
                           uint8_t fd_count)
{
    if (message->type == GW_MESSAGE_heartbeat && host->health)
        gw_health_checks_heard(host->health, message->heartbeat.wall_ns, gw_clock_wall_ns());
    struct gw_error error;
    int rc = 0;
    switch (message->type) {
    case GW_MESSAGE_program:
        rc = gw_cache_on_program(host->cache, &message->program, &error);
        break;
    case GW_MESSAGE_program_ready:
        gw_cache_on_gone(host->cache, &message->program_ready);
        break;
    case GW_MESSAGE_blob:
        rc = gw_cache_on_blob(host->cache, &message->blob, fd_count ? fds[0] : -1, &error);
        fds++;
        fd_count = fd_count ? (uint8_t)(fd_count - 1) : 0;
        break;
    case GW_MESSAGE_welcome:
        gw_keyring_on_welcome(&host->keyring, &message->welcome);
        gw_orphaned_files_on_welcome(host, message->welcome.cluster);
        if (strspn(message->welcome.cluster, "0123456789abcdef") ==
            strlen(message->welcome.cluster))
            (void)snprintf(host->cluster, sizeof host->cluster, "%s", message->welcome.cluster);
        return false;
    case GW_MESSAGE_orphaned_files:
        gw_orphaned_files_on_unknown(host, &message->orphaned_files);
        break;
    case GW_MESSAGE_neighbour:
        gw_keyring_on_neighbour(&host->keyring, &message->neighbour);
        return false;
    case GW_MESSAGE_forget:
        gw_transfer_forget(host->transfers, message->forget.job);
        gw_orphaned_files_on_forget(host, message->forget.job);
        return false;
    case GW_MESSAGE_log_read:
        gw_follow_read(host->follow, &message->log_read);
        break;
    case GW_MESSAGE_tunnel_open:
    case GW_MESSAGE_tunnel_data:
    case GW_MESSAGE_tunnel_credit:
    case GW_MESSAGE_tunnel_close:
        gw_tunnels_on_message(host->tunnels, message);
        break;
    case GW_MESSAGE_refuse:
        on_refused(host, &message->refuse);
        break;
    default:
        return false;
    }
    for (uint8_t i = 0; i < fd_count; i++)
        close(fds[i]);
    if (rc < 0)
        gw_log_warn("the scheduler sent a malformed message: %s", error.text);
    return true;
}

/* Replaces the name of a user by the user's folder on this host, in a message of the scheduler or
 * of another worker. */
static const struct gw_message *with_folder(struct gw_host *host, const struct gw_message *message,
                                            struct gw_message *named)
{
    *named = *message;
    const char **user = message->type == GW_MESSAGE_spec            ? &named->spec.user
                        : message->type == GW_MESSAGE_log_read      ? &named->log_read.user
                        : message->type == GW_MESSAGE_tunnel_open   ? &named->tunnel_open.user
                        : message->type == GW_MESSAGE_transfer_want ? &named->transfer_want.user
                                                                    : NULL;
    if (!user)
        return message;
    *user = gw_users_folder_named(host, *user);
    return named;
}

static void close_all(const int *fds, uint8_t fd_count)
{
    for (uint8_t i = 0; i < fd_count; i++)
        close(fds[i]);
}

/* Checks a message of the supervisor of a user. Returns the connection of the worker's own
 * supervisor, for which the message counts, or NULL. */
static struct gw_host_link *from_user(struct gw_host_link *link, const struct gw_message *message,
                                      const int *fds, uint8_t fd_count)
{
    if (!fd_count && message->type == GW_MESSAGE_heartbeat) {
        gw_users_on_answer(link->host, link);
        return NULL;
    }
    if (!fd_count && gw_users_on_message(link->host, link, message))
        return link->host->supervisor;
    close_all(fds, fd_count);
    gw_log_warn("the supervisor of a user reports what it may not report, so its connection is "
                "closed");
    gw_link_close(link->link);
    return NULL;
}

/* Handles the files of a runner's message. Returns false if a runner of a separate user sends a
 * file whose reads could wait for the user, for example one on FUSE. */
static bool from_runner(struct gw_host_link *link, const struct gw_message *message, const int *fds,
                        uint8_t *fd_count)
{
    for (uint8_t i = 0; i < *fd_count && link->host->options.separate_users; i++)
        if (!gw_content_in_memory(fds[i])) {
            close_all(fds, *fd_count);
            refuse(link, GW_EPROTO, "a result is not in a memory file");
            return false;
        }
    if (message->type == GW_MESSAGE_actor_ready) {
        gw_host_on_actor_ready(link->host, link->process, fds, *fd_count);
        *fd_count = 0;
    }
    return true;
}

void gw_peers_on_message(struct gw_link *handle, const struct gw_message *message, const int *fds,
                         uint8_t fd_count, void *arg)
{
    struct gw_host_link *link = arg;
    struct gw_host *host = link->host;
    (void)handle;
    gw_shut_down_heed(host);
    if (host->exiting || !link->role) {
        close_all(fds, fd_count);
        if (!host->exiting)
            on_peer_hello(link, message);
        return;
    }
    if (link == host->reconnect.second) {
        close_all(fds, fd_count);
        gw_host_reconnect_on_second(host, message);
        return;
    }
    int seen = link == host->scheduler ? gw_host_reconnect_on_message(host, message) : 0;
    if (seen < 0) {
        close_all(fds, fd_count);
        if (seen == GW_EEXIST)
            return;
        gw_log_warn("the scheduler acknowledged messages that were never sent");
        gw_link_close(link->link);
        return;
    }
    struct gw_message named;
    if (link == host->scheduler ||
        (link->role == GW_ROLE_PEER && message->type == GW_MESSAGE_transfer_want))
        message = with_folder(host, message, &named);
    if (link == host->scheduler && from_scheduler(host, message, fds, fd_count))
        return;
    if (link->role == GW_ROLE_SUPERVISOR && link != host->supervisor &&
        !(link = from_user(link, message, fds, fd_count)))
        return;
    if (link->role == GW_ROLE_PEER && gw_transfer_on_message(link, message)) {
        close_all(fds, fd_count);
        return;
    }
    struct gw_message filled;
    if (link == host->supervisor && gw_tunnels_on_supervisor(host->tunnels, message))
        return;
    if (link == host->supervisor)
        message = gw_host_on_supervisor_message(host, message, &filled);
    if (link->role == GW_ROLE_RUNNER && !from_runner(link, message, fds, &fd_count))
        return;
    bool welcome = link == host->scheduler && message->type == GW_MESSAGE_welcome;
    uint64_t reaped = message->type == GW_MESSAGE_reaped    ? message->reaped.process
                      : message->type == GW_MESSAGE_spawned ? message->spawned.process
                                                            : 0;
    bool supervisor = link == host->supervisor;
    if (gw_step_message(link, message, fds, fd_count) < 0) {
        gw_log_warn("another worker sent a message that is not allowed at this point: %s",
                    gw_message_name(message->type));
        refuse(link, GW_EPROTO, "unexpected message");
    }
    if (supervisor && reaped)
        gw_runners_tidy(host, reaped);
    if (welcome && !host->exiting) {
        if (!host->was_welcomed)
            gw_log_info("worker %s: the scheduler at %s answers", host->options.name,
                        host->scheduler_path);
        host->welcomed = host->was_welcomed = true;
        host->absent = (struct gw_complaint){0};
        host->refused_ns = host->alone_ns = 0;
        tell_alive(host, true);
        host->orphan_said = false;
        (void)uv_timer_stop(&host->reconnect_timer);
        say_ready(host);
        gw_cache_reconnected(host->cache);
        gw_orphaned_files_tell(host);
    }
}

/* -- Connecting ----------------------------------------------------------------------------------
 */

/* Closes a connection that was accepted but got no welcome in time. The peer may be a proxy without
 * a server, or a stopped scheduler. Another connection may reach a working one. */
static void welcome_on_timer(uv_timer_t *timer)
{
    struct gw_host *host = timer->data;
    if (!host->scheduler || host->welcomed)
        return;
    gw_tls_abandon(host->scheduler->transport);
    gw_link_close(host->scheduler->link);
}

void gw_peers_connect_scheduler(struct gw_host *host)
{
    if (host->scheduler || host->exiting || host->shutting_down)
        return;
    struct gw_host_link *link;
    const uint64_t begun_ns = gw_clock_now_ns();
    const int rc = gw_host_link_connect_scheduler(host, &link);
    if (!link) {
        if (host->options.private_cluster && rc == GW_ECLOSED) {
            gw_log_info("the scheduler has ended, so this worker of a private cluster shuts down");
            gw_shut_down(host);
            return;
        }
        if (rc == GW_ECLOSED)
            on_nobody(host, begun_ns);
        on_alone(host);
        reconnect_later(host, RECONNECT_MS_MAX);
        return;
    }
    host->scheduler = link;
    link->told_core = true;
    gw_host_link_say_hello(link, GW_ROLE_WORKER);
    if (link->transport)
        (void)uv_timer_start(&host->reconnect_timer, welcome_on_timer, WELCOME_MS_MAX, 0);
    (void)gw_host_step(host, &(struct gw_event){.type = GW_EVENT_OPEN,
                                                .peer = {link->id},
                                                .uid = geteuid(),
                                                .role = GW_ROLE_SCHEDULER});
}

/* -- Listening -----------------------------------------------------------------------------------
 */

static void host_on_accept(int fd, void *arg)
{
    struct gw_host *host = arg;
    struct gw_transport *transport = NULL;
    struct gw_error error;
    if (host->options.peers &&
        gw_tls_accept(fd, gw_keyring_find, &host->keyring, &transport, &error) < 0) {
        gw_log_error("the connection of another worker was refused: %s", error.text);
        return;
    }
    gw_host_link_greet(host, fd, transport);
}

int gw_peers_listen(struct gw_host *host, struct gw_error *error)
{
    const struct gw_acceptor_callbacks callbacks = {.on_accept = host_on_accept, .arg = host};
    char actual[GW_ENDPOINT_TEXT_MAX];
    int fd, rc = gw_endpoint_listen(host->peers_address, &fd, actual, error);
    if (rc < 0)
        return rc;
    if (host->options.peers) {
        (void)snprintf(host->peers_address, sizeof host->peers_address, "%s", actual);
        gw_log_info("other workers reach this one at %s, by TLS", actual);
    }
    return gw_acceptor_open(host->loop, fd, &callbacks, &host->acceptor, error);
}
