/* Sockets and timers around one scheduler core.
 *
 * Every connection begins with `hello`, and only then does the core learn of the peer. Effects of a
 * step are executed in order, before the next event. A peer that violates the protocol is refused
 * with a reason and closed, without effect on other peers. If the TLS connection of a worker
 * breaks, the worker can reconnect until its silence exceeds the limit. Messages that one side sent
 * and the other did not receive are sent again, and the core does not notice the break. */
#include "scheduler/net/server.h"

#include "graph/base/clock.h"
#include "graph/base/log.h"
#include "graph/base/machine.h"
#include "graph/wire/backlog.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"
#include "graph/wire/timeouts.h"
#include "graph/wire/tls.h"
#include "scheduler/net/hello.h"
#include "scheduler/net/recovery.h"
#include "scheduler/net/server_audit.h"
#include "scheduler/net/server_effects.h"
#include "scheduler/net/server_programs.h"
#include "scheduler/net/server_state.h"

#include <assert.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { SHUTDOWN_PEER = 1, FIRST_PEER = 2 }; /* peer 1 stands for signals that end the cluster */
enum { BEAT_MS = GW_HEARTBEAT_NS / GW_NS_PER_MS };

/* -- Driving the core ------------------------------------------------------------------------- */

/* Reports the number of workers that take part. A worker counts only after its registration is on
 * disk, so that a client that submits then finds all workers that were reported. */
static void count_workers(const struct gw_server *server)
{
    if (!server->closing)
        server->options.on_worker(gw_sched_workers_known(server->core), server->options.arg);
}

static void server_on_tick(uv_timer_t *timer);

static void set_tick(struct gw_server *server)
{
    uint64_t deadline_ns = gw_sched_deadline_ns(server->core);
    if (deadline_ns == UINT64_MAX) {
        uv_timer_stop(&server->tick);
        return;
    }
    uint64_t now_ns = gw_clock_now_ns();
    uint64_t wait_ms =
        deadline_ns <= now_ns ? 0 : (deadline_ns - now_ns + GW_NS_PER_MS - 1) / GW_NS_PER_MS;
    (void)uv_timer_start(&server->tick, server_on_tick, wait_ms, 0);
}

int gw_server_follow(struct gw_server *server, const struct gw_cluster_policy *policy,
                     struct gw_error *error)
{
    int rc = gw_sched_policy_set(server->core, policy, error);
    set_tick(server);
    return rc;
}

void gw_server_limit(struct gw_server *server, const struct gw_server_limits *limits)
{
    gw_sched_term_limit(server->core, &limits->sched);
    gw_server_audit_limit(server->audit, limits->audit_bytes_max);
    gw_accounting_retain(server->accounting, limits->accounting_retention_ns);
}

static int step(struct gw_server *server, struct gw_event *event)
{
    if (server->closing)
        return 0;
    event->now_ns = gw_clock_now_ns();
    event->wall_ns = gw_clock_wall_ns();
    int rc = gw_sched_step(server->core, event, &server->effects);
    gw_server_effects_run(server);
    if (!server->closing)
        set_tick(server);
    return rc;
}

static void server_on_tick(uv_timer_t *timer)
{
    struct gw_event event = {.type = GW_EVENT_TICK};
    (void)step(timer->data, &event);
}

/* Sends heartbeats to clients. Heartbeats of clients need no answer from the core. Heartbeats of
 * workers are sent by the core. */
static void server_on_beat(uv_timer_t *timer)
{
    gw_connection_beat_all(&((const struct gw_server *)timer->data)->connections);
}

static void server_on_committed(uint64_t number, void *arg)
{
    struct gw_server *server = arg;
    struct gw_event event = {
        .type = GW_EVENT_COMMITTED, .number = number, .bytes = gw_journal_commits(server->journal)};
    (void)step(server, &event);
    count_workers(server);
}

static void server_on_room(const struct gw_error *why, void *arg)
{
    struct gw_event event = {.type = GW_EVENT_ROOM, .code = why ? why->code : 0};
    event.text = why ? why->text : "there is room for jobs on disk again";
    gw_log_warn("%s", event.text);
    (void)step(arg, &event);
}

/* -- Connections ------------------------------------------------------------------------------ */

/* Counts a closed handle of the server. The last one frees the server. */
static void handle_gone(struct gw_server *server)
{
    if (--server->open_handles > 0)
        return;
    assert(server->closing);
    gw_map_deinit(&server->connections);
    gw_secrets_deinit(&server->secrets);
    gw_server_audit_close(server->audit);
    free(server);
}

static void connection_on_timer_closed(uv_handle_t *handle)
{
    struct gw_connection *connection = handle->data;
    struct gw_server *server = connection->server;
    gw_backlog_free(connection->backlog);
    free(connection);
    handle_gone(server);
}

/* Ends a connection and tells the core. */
static void connection_lose(struct gw_connection *connection, const struct gw_error *error)
{
    struct gw_server *server = connection->server;
    connection->broken = false;
    (void)gw_map_remove(&server->connections, connection->id);
    gw_greetings_remove(&server->greetings, &connection->greeting);
    if (error->code == GW_EPROTO)
        gw_log_warn("a connection that sent malformed data was closed: %s", error->text);
    else if (error->code == GW_EPERM)
        gw_log_warn("a connection was refused: %s", error->text);
    gw_server_audit_lost(server->audit, connection, error);
    if (!server->closing) {
        gw_programs_forget_peer(server->programs, connection->id);
        if (connection->told_core) {
            (void)step(server,
                       &(struct gw_event){.type = GW_EVENT_CLOSE,
                                          .peer = {connection->id},
                                          .code = connection->revoked ? GW_EPERM : error->code,
                                          .text = error->text});
        }
    }
    uv_close((uv_handle_t *)&connection->hello_timer, connection_on_timer_closed);
}

/* The time for a broken connection to reconnect is over. */
static void connection_on_given_up(uv_timer_t *timer)
{
    struct gw_error error;
    (void)gw_error_set(&error, GW_ECLOSED, "the connection broke");
    connection_lose(timer->data, &error);
}

/* Returns true if the worker may reconnect: neither side closed the connection on purpose, so the
 * network between them broke. */
static bool may_reconnect(const struct gw_connection *connection, const struct gw_error *error)
{
    return !connection->server->closing && !connection->revoked && connection->backlog &&
           connection->worker && (error->code == GW_ECLOSED || error->code == GW_EIO) &&
           !gw_tls_ended(connection->transport);
}

static void link_on_close(struct gw_link *link, const struct gw_error *error, void *arg)
{
    struct gw_connection *connection = arg;
    (void)link;
    connection->link_closed = true;
    if (!may_reconnect(connection, error)) {
        connection_lose(connection, error);
        return;
    }
    gw_log_info("the connection of worker %u broke: %s", connection->worker, error->text);
    /* Until the worker reconnects, or the core drops it because of its silence. */
    connection->broken = true;
    connection->transport = NULL;
}

/* -- Reconnects ------------------------------------------------------------------------------- */

/* Finds the broken connection that `hello` wants to continue. Token and secret must be the same.
 * Returns NULL if there is none, if messages that the peer lacks are not kept any more, or if a
 * later reconnect of the same worker arrived first. */
static struct gw_connection *find_broken(const struct gw_connection *fresh,
                                         const struct gw_msg_hello *hello)
{
    const struct gw_server *server = fresh->server;
    uint8_t secret[GW_TLS_SECRET_BYTES];
    size_t at = 0;
    uint64_t id, value;
    if (hello->secret.size != sizeof secret ||
        gw_secrets_of_worker(&server->secrets, hello->reconnects, secret) < 0 ||
        !gw_tls_secret_equals(secret, hello->secret.data))
        return NULL;
    while (gw_map_next(&server->connections, &at, &id, &value)) {
        struct gw_connection *connection = (struct gw_connection *)(uintptr_t)value;
        if (connection != fresh && connection->worker == hello->reconnects && connection->backlog &&
            gw_connection_reachable(connection) && strcmp(connection->who, fresh->who) == 0)
            return hello->dialled > connection->dialled &&
                           gw_backlog_can_reconnect(connection->backlog, hello->taken)
                       ? connection
                       : NULL;
    }
    return NULL;
}

static void link_on_message(struct gw_link *link, const struct gw_message *message, const int *fds,
                            uint8_t fd_count, void *arg);

/* Continues a worker's broken connection over the link of `fresh`, and frees `fresh`. The core does
 * not notice. */
static int reconnect(struct gw_connection *fresh, const struct gw_msg_hello *hello,
                     struct gw_error *error)
{
    struct gw_connection *broken = find_broken(fresh, hello);
    if (!broken)
        return gw_error_set(error, GW_ENOENT,
                            "worker %u cannot continue its connection: the scheduler has given "
                            "this worker up, or has restarted",
                            hello->reconnects);
    const struct gw_link_callbacks callbacks = {link_on_message, link_on_close, broken};
    gw_log_info("worker %u has reconnected", broken->worker);
    uv_timer_stop(&broken->hello_timer);
    gw_connection_reconnect(broken, fresh, &callbacks, hello);
    (void)gw_map_remove(&fresh->server->connections, fresh->id);
    gw_greetings_remove(&fresh->server->greetings, &fresh->greeting);
    uv_close((uv_handle_t *)&fresh->hello_timer, connection_on_timer_closed);
    return 0;
}

/* -- Messages --------------------------------------------------------------------------------- */

/* Handles the first message: identifies the peer and checks that it may connect. */
static int on_hello(struct gw_connection *connection, const struct gw_message *message,
                    struct gw_error *error)
{
    struct gw_server *server = connection->server;
    struct gw_hello hello;
    int rc = gw_hello_take(&hello, connection, server->door, message, error);
    if (rc < 0)
        return rc;
    if (message->hello.reconnects)
        return reconnect(connection, &message->hello, error);
    uv_timer_stop(&connection->hello_timer);
    gw_greetings_remove(&server->greetings, &connection->greeting);
    connection->role = hello.event.role;
    if (connection->transport && connection->role == GW_ROLE_CLIENT)
        gw_link_set_brisk(connection->link);
    if (connection->transport && connection->role == GW_ROLE_WORKER)
        gw_connection_retain_sent(connection);
    connection->told_core = true;
    rc = step(server, &hello.event);
    if (rc < 0)
        connection->told_core = false;
    if (rc == GW_ENOENT)
        return gw_error_set(error, GW_ECLOSED,
                            "the task that this program runs in has ended, so the program may not "
                            "use the cluster any more");
    return rc < 0 ? gw_error_set(error, rc, "hello does not fit: %s", gw_error_text(rc)) : 0;
}

static bool about_programs(const struct gw_connection *connection, uint32_t type)
{
    if (connection->role != GW_ROLE_WORKER)
        return type == GW_MESSAGE_program || type == GW_MESSAGE_blob;
    return type == GW_MESSAGE_blob_want;
}

static int to_core(struct gw_connection *connection, const struct gw_message *message,
                   const int *fds, uint8_t fd_count)
{
    struct gw_server *server = connection->server;
    uint64_t tokens[GW_FRAME_FDS_MAX];
    for (uint8_t i = 0; i < fd_count; i++)
        GW_MUST(gw_tokens_add(&server->tokens, fds[i], &tokens[i]));
    struct gw_event event = {
        .type = GW_EVENT_MESSAGE,
        .peer = {connection->id},
        .message = message,
        .tokens = tokens,
        .token_count = fd_count,
    };
    return step(server, &event);
}

static bool was_shipped(const struct gw_server *server, const struct gw_msg_spec *spec)
{
    return (spec->kind != GW_SPEC_FUNCTION || gw_programs_has(server->programs, spec->program)) &&
           (spec->files.size == 0 || gw_programs_has(server->programs, spec->files));
}

static void link_on_message(struct gw_link *link, const struct gw_message *message, const int *fds,
                            uint8_t fd_count, void *arg)
{
    struct gw_connection *connection = arg;
    struct gw_server *server = connection->server;
    struct gw_error error = {0};
    int rc;
    (void)link;
    if (server->closing) {
        gw_connection_close_fds(fds, fd_count);
        return;
    }
    if (connection->role == 0) {
        gw_connection_close_fds(fds, fd_count);
        rc = on_hello(connection, message, &error);
    } else if ((rc = gw_connection_count(connection, message)) < 0) {
        gw_connection_close_fds(fds, fd_count);
        gw_error_set(&error, rc,
                     "a heartbeat acknowledges messages that were never sent: install one version "
                     "of Gangway on both sides");
    } else if (about_programs(connection, message->type)) {
        if (fd_count > 1)
            gw_connection_close_fds(fds + 1, (uint8_t)(fd_count - 1));
        rc = gw_programs_on_message(server->programs, connection->id, message,
                                    fd_count > 0 ? fds[0] : -1, &error);
    } else if (message->type == GW_MESSAGE_spec && !was_shipped(server, &message->spec)) {
        gw_connection_close_fds(fds, fd_count);
        rc = gw_error_set(
            &error, GW_ENOENT,
            "message spec: the program or the files of a task must be sent before the task");
    } else {
        gw_server_audit_request(server->audit, connection, message);
        rc = to_core(connection, message, fds, fd_count);
        if (rc < 0)
            gw_error_set(&error, rc,
                         "message %s is not allowed at this point: install one version of Gangway "
                         "on both sides",
                         gw_message_name(message->type));
        if (rc >= 0 && message->type == GW_MESSAGE_registration)
            count_workers(server);
    }
    if (rc < 0 && !connection->link_closed) {
        gw_log_warn("refused a %s%s%s: %s",
                    connection->role == GW_ROLE_WORKER ? "worker" : "client",
                    *connection->who ? " of " : "", connection->who, error.text);
        gw_server_audit_refused(server->audit, connection, &error);
        gw_connection_refuse(connection, &error);
    }
}

static void connection_on_hello_timeout(uv_timer_t *timer)
{
    struct gw_connection *connection = timer->data;
    if (!connection->link_closed)
        gw_link_close(connection->link);
}

/* Opens a connection. Takes ownership of the descriptor or the transport. */
static void connection_open(struct gw_server *server, int fd, struct gw_transport *transport)
{
    struct gw_connection *connection = calloc(1, sizeof *connection);
    GW_MUST_PTR(connection);
    connection->server = server;
    connection->id = server->next_peer++;
    connection->transport = transport;
    if (transport)
        gw_endpoint_peer(transport->fd, connection->address);
    connection->hello_timer.data = connection;
    connection->on_broken = connection_on_given_up;
    struct gw_link_callbacks callbacks = {link_on_message, link_on_close, connection};
    int rc = transport ? gw_link_open_over(server->loop, transport, &callbacks, &connection->link)
                       : gw_link_open(server->loop, fd, &callbacks, &connection->link);
    if (rc < 0) {
        free(connection);
        return;
    }
    GW_MUST(gw_map_put(&server->connections, connection->id, (uintptr_t)connection));
    server->open_handles++;
    (void)uv_timer_init(server->loop, &connection->hello_timer);
    (void)uv_timer_start(&connection->hello_timer, connection_on_hello_timeout, GW_GREETING_MS_MAX,
                         0);
    const struct gw_greeting *oldest =
        gw_greetings_add(&server->greetings, &connection->greeting, connection);
    if (oldest)
        gw_connection_end(oldest->arg);
}

static void server_on_accept(int fd, void *arg)
{
    connection_open(arg, fd, NULL);
}

static void door_on_accept(struct gw_transport *transport, void *arg)
{
    connection_open(arg, -1, transport);
}

/* Closes the connections whose tokens were removed. Connections without a hello are checked when
 * the hello arrives. */
static void door_on_revoked(void *arg)
{
    struct gw_server *server = arg;
    size_t at = 0;
    uint64_t id, value;
    while (gw_map_next(&server->connections, &at, &id, &value)) {
        struct gw_connection *connection = (struct gw_connection *)(uintptr_t)value;
        struct gw_error error;
        if (!*connection->token.id || !connection->role || !gw_connection_reachable(connection) ||
            gw_door_knows(server->door, &connection->token))
            continue;
        (void)gw_error_set(&error, GW_EPERM, "the token was revoked");
        gw_log_warn("a connection of %s is closed: %s", connection->who, error.text);
        gw_server_audit_refused(server->audit, connection, &error);
        connection->revoked = true;
        if (connection->broken) /* the worker must not reconnect */
            gw_connection_end(connection);
        else
            gw_connection_refuse(connection, &error);
    }
}

static void server_on_closed(void *arg)
{
    handle_gone(arg);
}

/* -- Opening and closing ---------------------------------------------------------------------- */

/* Opens the acceptor of the unix socket and, if TCP is configured, the door. */
static int open_sockets(struct gw_server *server, const struct gw_server_options *options,
                        struct gw_error *error)
{
    const struct gw_acceptor_callbacks callbacks = {server_on_accept, server_on_closed, server};
    const struct gw_door_options door = {
        .listen = options->listen,
        .tokens = options->tokens,
        .on_accept = door_on_accept,
        .on_changed = gw_server_audit_on_tokens,
        .on_revoked = door_on_revoked,
        .on_closed = server_on_closed,
        .arg = server,
    };
    int rc = gw_acceptor_open(server->loop, gw_local_take(&server->local), &callbacks,
                              &server->acceptor, error);
    if (rc < 0)
        return rc;
    server->open_handles++;
    if (!options->listen)
        return 0;
    rc = gw_door_open(server->loop, &door, &server->door, error);
    if (rc == 0)
        server->open_handles++;
    return rc;
}

/* Restores the facts of earlier terms into the core. When this function returns, the number of the
 * new term is on disk. */
static int recover(struct gw_server *server, struct gw_buffer *facts, struct gw_error *error)
{
    const uint64_t commits = gw_journal_commits(server->journal);
    uint64_t seed = 0;
    (void)getrandom(&seed, sizeof seed, GRND_NONBLOCK);
    int rc = gw_recovery_restore(server->core, server->journal, facts, error);
    if (rc < 0)
        return rc;
    gw_programs_restore(server->programs);
    struct gw_event start = {.type = GW_EVENT_START,
                             .number = gw_sched_term(server->core) + 1,
                             .bytes = commits,
                             .seed = seed};
    (void)step(server, &start);
    return gw_journal_sync(server->journal, error);
}

/* Opens the stores on disk: programs and journal. */
static int open_stores(struct gw_server *server, const struct gw_server_options *options,
                       struct gw_buffer *facts, struct gw_error *error)
{
    const struct gw_journal_callbacks callbacks = {server_on_committed, server_on_room,
                                                   gw_recovery_on_disk_failed, server};
    const struct gw_recovery_options recovery = {options->state, options->dir, options->accept_loss,
                                                 &callbacks};
    int rc = gw_recovery_open(server->loop, &recovery, facts, &server->journal, error);
    if (rc == 0) {
        memcpy(server->cluster, gw_journal_cluster(server->journal), sizeof server->cluster);
        rc = gw_server_programs_open(server, options, error);
    }
    if (rc == 0 && options->audit)
        rc = gw_server_audit_open(options->audit, options->audit_bytes_max, &server->audit, error);
    return rc;
}

/* Makes the core and the accounting. */
static void make_core(struct gw_server *opened, const struct gw_server_options *options)
{
    opened->core = gw_sched_new(
        &(struct gw_sched_options){.pure_bytes_max = options->pure_bytes_max,
                                   .history_jobs = options->history_jobs,
                                   .accounting = options->accounting != NULL,
                                   .scattered_bytes_max = options->scattered_bytes_max,
                                   .scattered_descriptors_max = gw_machine_descriptors_for_values(),
                                   .keeps_workers = options->state != NULL,
                                   .is_private = !options->state,
                                   .state_dir = options->dir,
                                   .address = gw_server_address(opened),
                                   .owner = *opened->owner ? opened->owner : NULL,
                                   .cluster = opened->cluster});
    if (options->accounting)
        opened->accounting = gw_accounting_open(
            opened->loop,
            &(struct gw_accounting_options){.path = options->accounting,
                                            .cluster = opened->cluster,
                                            .retention_ns = options->accounting_retention_ns,
                                            /* before the history forgets them */
                                            .together_max = options->history_jobs,
                                            .on_answer = gw_server_effects_answer,
                                            .arg = opened});
}

int gw_server_open(uv_loop_t *loop, const struct gw_server_options *options,
                   struct gw_server **server, struct gw_error *error)
{
    struct gw_server *opened = calloc(1, sizeof *opened);
    GW_MUST_PTR(opened);
    opened->loop = loop;
    opened->options = *options;
    opened->options.dir = opened->options.state = opened->options.sockets = NULL;
    opened->options.listen = opened->options.tokens = NULL;
    opened->options.accounting = opened->options.audit = NULL;
    opened->next_peer = FIRST_PEER;
    const struct passwd *owner = getpwuid(geteuid());
    if (owner)
        (void)snprintf(opened->owner, sizeof opened->owner, "%s", owner->pw_name);
    int rc = gw_secrets_init(&opened->secrets, error);
    if (rc < 0) {
        free(opened);
        return rc;
    }

    struct gw_buffer facts = {0};
    rc = gw_local_open(&(struct gw_local_place_options){options->dir, options->sockets},
                       &opened->local, error);
    if (rc < 0)
        goto fail;
    rc = open_stores(opened, options, &facts, error);
    if (rc == 0)
        rc = open_sockets(opened, options, error);
    if (rc < 0)
        goto fail_listening;
    make_core(opened, options);
    opened->open_handles += 2;
    opened->tick.data = opened->beat.data = opened;
    (void)uv_timer_init(loop, &opened->tick);
    (void)uv_timer_init(loop, &opened->beat);
    if (opened->door)
        (void)uv_timer_start(&opened->beat, server_on_beat, BEAT_MS, BEAT_MS);
    rc = recover(opened, &facts, error);
    gw_buffer_deinit(&facts);
    if (rc < 0) {
        gw_server_close(opened, NULL, false);
        return rc;
    }
    *server = opened;
    return 0;

fail_listening:
    gw_buffer_deinit(&facts);
    gw_local_close(&opened->local, opened->local.was_there);
    if (opened->programs)
        gw_programs_close(opened->programs);
    if (opened->journal)
        gw_journal_close(opened->journal);
    opened->closing = true;
    if (opened->acceptor) { /* the server is freed when these are closed */
        gw_acceptor_close(opened->acceptor);
        gw_door_close(opened->door);
        return rc;
    }
fail:
    gw_server_audit_close(opened->audit);
    gw_secrets_deinit(&opened->secrets);
    free(opened);
    return rc;
}

void gw_server_worker_gone(struct gw_server *server, const char *name)
{
    (void)step(server, &(struct gw_event){.type = GW_EVENT_GONE, .text = name});
}

void gw_server_shutdown(struct gw_server *server, const char *reason)
{
    (void)step(server, &(struct gw_event){.type = GW_EVENT_OPEN,
                                          .peer = {SHUTDOWN_PEER},
                                          .role = GW_ROLE_CLIENT,
                                          .uid = geteuid(),
                                          .admin = true,
                                          .text = "the scheduler itself"});
    struct gw_message message = {
        .type = GW_MESSAGE_shutdown, .sequence = 1, .shutdown = {.request = 1, .text = reason}};
    (void)step(server, &(struct gw_event){
                           .type = GW_EVENT_MESSAGE, .peer = {SHUTDOWN_PEER}, .message = &message});
}

void gw_server_stop(struct gw_server *server)
{
    (void)step(server, &(struct gw_event){.type = GW_EVENT_STOP});
}

static void server_on_handle_closed(uv_handle_t *handle)
{
    handle_gone(handle->data);
}

void gw_server_close(struct gw_server *server, const char *why, bool stays)
{
    server->closing = true;
    size_t at = 0;
    uint64_t id, value;
    while (gw_map_next(&server->connections, &at, &id, &value)) {
        struct gw_connection *connection = (struct gw_connection *)(uintptr_t)value;
        if (!connection->link_closed)
            gw_connection_leave(connection, why);
    }
    gw_local_close(&server->local, stays);
    gw_acceptor_close(server->acceptor);
    gw_door_close(server->door);
    gw_programs_close(server->programs);
    gw_journal_close(server->journal);
    gw_accounting_close(server->accounting);
    gw_tokens_deinit(&server->tokens);
    gw_array_deinit(&server->effects.list);
    gw_arena_deinit(&server->effects.arena);
    gw_sched_free(server->core);
    uv_close((uv_handle_t *)&server->tick, server_on_handle_closed);
    uv_close((uv_handle_t *)&server->beat, server_on_handle_closed);
}

int gw_server_listen_again(struct gw_server *server, const char *dir, const char *sockets,
                           struct gw_error *error)
{
    const struct gw_acceptor_callbacks callbacks = {server_on_accept, server_on_closed, server};
    struct gw_local local;
    struct gw_acceptor *acceptor;
    int rc = gw_local_open(&(struct gw_local_place_options){dir, sockets}, &local, error);
    if (rc == 0)
        rc = gw_acceptor_open(server->loop, gw_local_take(&local), &callbacks, &acceptor, error);
    if (rc < 0)
        return rc;
    gw_acceptor_close(server->acceptor); /* its socket file is gone */
    server->acceptor = acceptor;
    server->local = local;
    server->open_handles++;
    return 0;
}

bool gw_server_knows_job(const struct gw_server *server, uint64_t job)
{
    return gw_sched_job_knows(server->core, job);
}

bool gw_server_has_worker(const struct gw_server *server, const char *name)
{
    return gw_sched_has_worker(server->core, name);
}

bool gw_server_ends(const struct gw_server *server)
{
    return gw_sched_ends(server->core);
}

const char *gw_server_address(const struct gw_server *server)
{
    return server->door ? gw_door_address(server->door) : NULL;
}

enum gw_local_place gw_server_look(const struct gw_server *server, bool *state_lost)
{
    *state_lost = gw_journal_lost(server->journal);
    return gw_local_look(&server->local);
}

uint64_t gw_server_idle_ns(const struct gw_server *server)
{
    uint64_t since_ns = gw_sched_idle_since_ns(server->core), now_ns = gw_clock_now_ns();
    return since_ns < now_ns ? now_ns - since_ns : 0;
}
