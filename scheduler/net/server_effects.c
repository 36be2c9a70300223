/* Executes the effects of the scheduler's core: messages, facts for the journal, and the end of the
 * process. */
#include "scheduler/net/server_effects.h"

#include "graph/base/log.h"
#include "graph/wire/codec.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"
#include "graph/wire/tls.h"
#include "scheduler/net/server_audit.h"
#include "scheduler/net/server_state.h"

#include <assert.h>
#include <string.h>

static void announce(struct gw_server *server, uint64_t worker, const struct gw_msg_spec *spec)
{
    gw_programs_announce(server->programs, worker, spec->program);
    gw_programs_announce(server->programs, worker, spec->files);
}

/* Returns true if a message type needs values that the core does not know (secrets, or the count of
 * received messages). */
static bool is_filled_in(uint32_t type)
{
    return type == GW_MESSAGE_welcome || type == GW_MESSAGE_neighbour || type == GW_MESSAGE_gang ||
           type == GW_MESSAGE_heartbeat;
}

static void send_filled_in(const struct gw_server *server, struct gw_connection *connection,
                           const struct gw_effect *effect)
{
    uint8_t secret[GW_TLS_SECRET_BYTES];
    struct gw_message message = effect->message;
    if (message.type == GW_MESSAGE_welcome && message.welcome.worker)
        connection->worker = message.welcome.worker;
    if (gw_secrets_add(&server->secrets, connection->worker, &message, secret) < 0)
        gw_log_error("cannot make a key for worker %u, so this worker and others cannot connect to "
                     "each other",
                     connection->worker);
    if (message.type == GW_MESSAGE_heartbeat)
        message.heartbeat.taken = connection->taken;
    gw_connection_send(connection, &message, NULL, 0);
    explicit_bzero(secret, sizeof secret);
}

static void effect_send(struct gw_server *server, const struct gw_effect *effect)
{
    struct gw_connection *connection = gw_server_find_connection(server, effect->peer.id);
    if (!connection || !gw_connection_reachable(connection))
        return; /* the connection is gone, and a CLOSE event tells the core */

    gw_connection_log(connection, &effect->message);
    gw_server_audit_answer(server->audit, connection, &effect->message);
    if (effect->message.type == GW_MESSAGE_spec && connection->role == GW_ROLE_WORKER)
        announce(server, connection->id, &effect->message.spec);

    int fds[GW_FRAME_FDS_MAX];
    assert(effect->token_count <= GW_FRAME_FDS_MAX);
    for (uint32_t i = 0; i < effect->token_count; i++)
        fds[i] = gw_tokens_fd(&server->tokens, effect->tokens[i]);
    if (is_filled_in(effect->message.type))
        send_filled_in(server, connection, effect);
    else
        gw_connection_execute(connection, effect, fds);
}

void gw_server_effects_answer(const struct gw_accounting_answer *answer, void *arg)
{
    struct gw_connection *connection = gw_server_find_connection(arg, answer->peer);
    struct gw_message message = {.type = GW_MESSAGE_reply};
    message.reply = (struct gw_msg_reply){.request = answer->request,
                                          .code = answer->code,
                                          .text = answer->text,
                                          .body = answer->body};
    if (!connection || !gw_connection_reachable(connection))
        return;
    gw_server_audit_answer(((struct gw_server *)arg)->audit, connection, &message);
    gw_connection_send(connection, &message, NULL, 0);
}

void gw_server_effects_reloaded(struct gw_server *server, uint64_t peer, uint64_t request,
                                const char *text, const struct gw_error *error)
{
    struct gw_accounting_answer answer = {peer, request, .text = ""};
    struct gw_buffer body = {0};
    struct gw_value *value = gw_str(text);
    if (error) {
        answer.code = error->code;
        answer.text = error->text;
    } else {
        GW_MUST(gw_codec_encode(value, NULL, &body));
        answer.body = (struct gw_bin){body.data, (uint32_t)body.size};
    }
    gw_server_effects_answer(&answer, server);
    gw_value_unref(value);
    gw_buffer_deinit(&body);
}

void gw_server_effects_run(struct gw_server *server)
{
    struct gw_error damage = {0};
    bool exits = false;
    uint64_t reload_peer = 0, reload_request = 0;
    struct gw_connection *connection;
    struct gw_effect *effect;
    GW_ARRAY_EACH (&server->effects.list, effect) {
        switch (effect->type) {
        case GW_EFFECT_SEND:
            effect_send(server, effect);
            break;
        case GW_EFFECT_CLOSE:
            connection = gw_server_find_connection(server, effect->peer.id);
            if (connection)
                gw_connection_end(connection);
            break;
        case GW_EFFECT_DROP_TOKEN:
            gw_tokens_drop(&server->tokens, effect->tokens[0]);
            break;
        case GW_EFFECT_COMMIT:
            GW_MUST(
                gw_journal_append(server->journal, effect->number, effect->bytes, effect->lazy));
            break;
        case GW_EFFECT_ACCOUNT:
            gw_accounting_add(server->accounting, effect->bytes.data);
            break;
        case GW_EFFECT_ASK_ACCOUNTING:
            gw_accounting_ask(server->accounting, effect->peer.id, effect->number, effect->bytes);
            break;
        case GW_EFFECT_STORE_CONTENT:
            gw_programs_store(server->programs, effect->bytes, gw_journal_add_file,
                              server->journal);
            break;
        case GW_EFFECT_RELOAD:
            reload_peer = effect->peer.id;
            reload_request = effect->number;
            break;
        case GW_EFFECT_EXIT:
            exits = true;
            break;
        case GW_EFFECT_DAMAGED:
            (void)gw_journal_lack(server->journal, effect->number, (const char *)effect->bytes.data,
                                  &damage);
            break;
        case GW_EFFECT_LOG:
            (effect->number ? gw_log_error : gw_log_info)("%s", (const char *)effect->bytes.data);
            break;
        default:
            assert(!"an effect that only workers have");
        }
    }
    gw_array_clear(&server->effects.list);
    if (reload_peer)
        server->options.on_reload(reload_peer, reload_request, server->options.arg);
    if (damage.code)
        server->options.on_damaged(&damage, server->options.arg);
    else if (exits)
        server->options.on_exit(server->options.arg);
}
