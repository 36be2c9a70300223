/* Lines of the audit log about messages and connections of a server.
 *
 * Invariant: a request that changes something has one line, written when its answer is sent, or
 * when the connection ends before that. */
#include "scheduler/net/server_audit.h"

#include "graph/base/array.h"
#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "graph/wire/tls.h"
#include "scheduler/net/server_state.h"
#include "scheduler/store/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FROM_BYTES = GW_ENDPOINT_TEXT_MAX + 48, ANSWERED_MAX = 1024 };

/* A request that is not answered yet. */
struct audited_request {
    uint64_t peer, request;
    const char *what; /* NULL: answered */
    uint64_t job;
    uint32_t index;
    char object[48];
};

struct gw_server_audit {
    struct gw_audit *log;
    GW_ARRAY(struct audited_request) requests; /* oldest first */
    size_t first;                              /* requests before it are answered */
};

/* -- Who and where -------------------------------------------------------------------------------
 */

/* The texts of an act that describe a peer. */
struct peer {
    char user[64], from[FROM_BYTES];
};

static void describe(const struct gw_connection *connection, struct peer *peer)
{
    const struct gw_server *server = connection->server;
    char name[GW_REMOTE_USER_BYTES];
    const bool on_host = !*connection->address;
    const char *user = *connection->token.user            ? connection->token.user
                       : on_host && connection->role != 0 ? server->owner
                                                          : "";
    if (connection->role == GW_ROLE_TASK && !server->closing)
        user = gw_sched_remote_user(server->core, (gw_peer){connection->id}, name);
    (void)snprintf(peer->user, sizeof peer->user, "%s", user);
    if (on_host)
        (void)snprintf(peer->from, sizeof peer->from, "process %d of this host%s",
                       (int)connection->pid, connection->role == GW_ROLE_TASK ? ", in a task" : "");
    else
        (void)snprintf(peer->from, sizeof peer->from, "%s%s", connection->address,
                       connection->role == GW_ROLE_TASK ? ", in a task" : "");
}

/* Writes a line. `act` says what was done, with which outcome. */
static void add(const struct gw_server_audit *audit, const struct gw_connection *connection,
                struct gw_audit_act act)
{
    struct peer peer;
    describe(connection, &peer);
    act.user = peer.user;
    act.token = connection->token.id;
    act.from = peer.from;
    gw_audit_add(audit->log, &act);
}

/* -- Requests ------------------------------------------------------------------------------------
 */

static const char *name_of_ask(uint32_t verb)
{
    switch (verb) {
    case GW_ASK_RESTART:
        return "restart";
    case GW_ASK_PAUSE:
    case GW_ASK_PAUSE_NOW:
        return "pause";
    case GW_ASK_RESUME:
        return "resume";
    case GW_ASK_REMOVE:
        return "rm";
    default:
        return "stop";
    }
}

/* Describes a request that gets a line. Returns false for all other messages. */
static bool describe_request(const struct gw_message *message, struct audited_request *request)
{
    const char *object = "";
    *request = (struct audited_request){.index = GW_INDEX_ALL};
#define REQUEST(name, text) request->what = (text), request->request = message->name.request
    switch (message->type) {
    case GW_MESSAGE_spec: /* the first message of a job, which may be refused for its account */
        if (message->spec.number > 0)
            return false;
        request->what = "submit";
        request->request = message->spec.key;
        break;
    case GW_MESSAGE_cancel:
        REQUEST(cancel, "cancel");
        request->job = message->cancel.job;
        request->index = message->cancel.index;
        break;
    case GW_MESSAGE_retry:
        REQUEST(retry, "retry");
        request->job = message->retry.job;
        request->index = message->retry.index;
        break;
    case GW_MESSAGE_gang_ask:
        REQUEST(gang_ask, name_of_ask(message->gang_ask.verb));
        request->job = message->gang_ask.job;
        break;
    case GW_MESSAGE_tunnel_open:
        if (message->tunnel_open.argv.size == 1) /* no words: asks if there is a checkpoint */
            return false;
        REQUEST(tunnel_open, message->tunnel_open.kind == GW_TUNNEL_PROCESS ? "exec"
                             : message->tunnel_open.kind == GW_TUNNEL_PORT  ? "forward"
                                                                            : NULL);
        request->job = message->tunnel_open.job;
        request->index = message->tunnel_open.index;
        break;
    case GW_MESSAGE_gpu_ask:
        REQUEST(gpu_ask, message->gpu_ask.drain ? "gpu drain" : "gpu undrain");
        object = message->gpu_ask.uuid;
        break;
    case GW_MESSAGE_worker_ask:
        REQUEST(worker_ask, message->worker_ask.drain ? "worker drain" : "worker undrain");
        object = message->worker_ask.name;
        break;
    case GW_MESSAGE_query:
        if (strcmp(message->query.what, "reload") != 0)
            return false;
        REQUEST(query, "config reload");
        break;
    case GW_MESSAGE_shutdown:
        REQUEST(shutdown, "down");
        break;
    default:
        return false;
    }
    (void)snprintf(request->object, sizeof request->object, "%s", object);
    return request->what != NULL;
}

static void note_joined(const struct gw_server_audit *audit, const struct gw_connection *connection)
{
    char object[32];
    (void)snprintf(object, sizeof object, "worker %u", connection->worker);
    add(audit, connection, (struct gw_audit_act){.what = "join", .object = object});
}

void gw_server_audit_request(struct gw_server_audit *audit, const struct gw_connection *connection,
                             const struct gw_message *message)
{
    struct audited_request request;
    if (!audit)
        return;
    if (connection->role == GW_ROLE_WORKER) {
        if (message->type == GW_MESSAGE_registration)
            note_joined(audit, connection);
        return;
    }
    if (!describe_request(message, &request))
        return;
    request.peer = connection->id;
    GW_MUST(gw_array_push(&audit->requests, request));
}

static void forget(struct gw_server_audit *audit, struct audited_request *request)
{
    request->what = NULL;
    while (audit->first < audit->requests.count && !audit->requests.items[audit->first].what)
        audit->first++;
    if (audit->first == audit->requests.count) {
        audit->requests.count = audit->first = 0;
    } else if (audit->first >= ANSWERED_MAX && audit->first * 2 >= audit->requests.count) {
        audit->requests.count -= audit->first;
        memmove(audit->requests.items, audit->requests.items + audit->first,
                audit->requests.count * sizeof *audit->requests.items);
        audit->first = 0;
    }
}

/* Returns the request of an answer, or NULL. */
static struct audited_request *find(const struct gw_server_audit *audit, uint64_t peer,
                                    uint64_t number)
{
    for (size_t i = audit->first; i < audit->requests.count; i++) {
        struct audited_request *request = &audit->requests.items[i];
        if (request->what && request->peer == peer && request->request == number)
            return request;
    }
    return NULL;
}

/* Writes the line of a request with its outcome. */
static void finish(struct gw_server_audit *audit, const struct gw_connection *connection,
                   struct audited_request *request, const struct gw_error *error)
{
    add(audit, connection,
        (struct gw_audit_act){.what = request->what,
                              .job = request->job,
                              .task = request->index,
                              .object = request->object,
                              .code = error ? error->code : 0,
                              .text = error && error->code ? error->text : NULL});
    forget(audit, request);
}

void gw_server_audit_answer(struct gw_server_audit *audit, const struct gw_connection *connection,
                            const struct gw_message *message)
{
    struct audited_request *request = NULL;
    struct gw_error error = {0};
    if (!audit || audit->requests.count == 0)
        return;
    switch (message->type) {
    case GW_MESSAGE_accepted:
        request = find(audit, connection->id, message->accepted.request);
        if (request)
            request->job = message->accepted.job;
        break;
    case GW_MESSAGE_rejected:
        request = find(audit, connection->id, message->rejected.request);
        (void)gw_error_set(&error, message->rejected.code, "%s", message->rejected.text);
        break;
    case GW_MESSAGE_reply:
        request = find(audit, connection->id, message->reply.request);
        (void)gw_error_set(&error, message->reply.code, "%s", message->reply.text);
        break;
    case GW_MESSAGE_tunnel_opened:
        request = find(audit, connection->id, message->tunnel_opened.request);
        (void)gw_error_set(&error, message->tunnel_opened.code, "%s", message->tunnel_opened.text);
        break;
    default:
        return;
    }
    if (request)
        finish(audit, connection, request, &error);
}

/* -- Connections ---------------------------------------------------------------------------------
 */

void gw_server_audit_refused(const struct gw_server_audit *audit,
                             const struct gw_connection *connection, const struct gw_error *error)
{
    if (audit)
        add(audit, connection,
            (struct gw_audit_act){.what = "refuse", .code = error->code, .text = error->text});
}

void gw_server_audit_lost(struct gw_server_audit *audit, const struct gw_connection *connection,
                          const struct gw_error *error)
{
    struct gw_error unanswered;
    char object[32];
    if (!audit)
        return;
    if (error->code == GW_EPERM || error->code == GW_EPROTO)
        gw_server_audit_refused(audit, connection, error);
    (void)gw_error_set(&unanswered, GW_ECLOSED, "the connection ended before the answer");
    for (size_t i = audit->requests.count; i-- > audit->first;)
        if (audit->requests.items[i].what && audit->requests.items[i].peer == connection->id)
            finish(audit, connection, &audit->requests.items[i], &unanswered);
    if (connection->role != GW_ROLE_WORKER || !connection->told_core)
        return;
    (void)snprintf(object, sizeof object, "worker %u", connection->worker);
    add(audit, connection,
        (struct gw_audit_act){
            .what = "leave", .object = object, .text = error->code ? error->text : NULL});
}

/* -- Tokens --------------------------------------------------------------------------------------
 */

/* Writes a line for each token of one file that the other file lacks. */
static void tell_tokens(const struct gw_server_audit *audit, const struct gw_token_file *these,
                        const struct gw_token_file *others, const char *what)
{
    const struct gw_token *token;
    GW_ARRAY_EACH (&these->tokens, token) {
        char object[GW_TOKEN_ID_BYTES + GW_TOKEN_USER_MAX + 48];
        const struct gw_token *same = gw_token_file_find(others, token->id);
        if (same && gw_tls_secret_equals(same->secret, token->secret))
            continue;
        (void)snprintf(object, sizeof object, "token %s of %s, role %s", token->id, token->user,
                       gw_token_role_name(token->role));
        gw_audit_add(audit->log, &(struct gw_audit_act){
                                     .what = what, .from = "the token file", .object = object});
    }
}

void gw_server_audit_on_tokens(const struct gw_token_file *before, const struct gw_token_file *now,
                               void *arg)
{
    const struct gw_server_audit *audit = ((const struct gw_server *)arg)->audit;
    if (!audit)
        return;
    tell_tokens(audit, before, now, "token revoke");
    tell_tokens(audit, now, before, "token create");
}

/* -- Opening and closing -------------------------------------------------------------------------
 */

int gw_server_audit_open(const char *path, uint64_t bytes_max, struct gw_server_audit **audit,
                         struct gw_error *error)
{
    struct gw_audit *log;
    const int rc = gw_audit_open(path, bytes_max, &log, error);
    if (rc < 0)
        return rc;
    GW_MUST_PTR(*audit = calloc(1, sizeof **audit));
    (*audit)->log = log;
    return 0;
}

void gw_server_audit_limit(struct gw_server_audit *audit, uint64_t bytes_max)
{
    if (audit)
        gw_audit_limit(audit->log, bytes_max);
}

void gw_server_audit_close(struct gw_server_audit *audit)
{
    if (!audit)
        return;
    gw_audit_close(audit->log);
    gw_array_deinit(&audit->requests);
    free(audit);
}
