/* Effects of a step: messages to send, connections to close, and the memory of their texts. */

#include "scheduler/core/send/send.h"

#include "scheduler/core/model/model.h"

struct gw_effect *gw_sched_send_effect(struct gw_sched *sched, uint32_t type)
{
    GW_MUST(gw_array_push(&sched->step.effects->list, ((struct gw_effect){.type = type})));
    return &sched->step.effects->list.items[sched->step.effects->list.count - 1];
}

struct gw_message *gw_sched_send(struct gw_sched *sched, struct gw_remote *remote, uint32_t type)
{
    struct gw_effect *effect = gw_sched_send_effect(sched, GW_EFFECT_SEND);
    effect->peer = remote->peer;
    effect->message.type = type;
    effect->message.term = sched->term;
    effect->message.peer = remote->id;
    if (type != GW_MESSAGE_heartbeat) /* heartbeats may overtake other messages */
        effect->message.sequence = gw_sched_remote_number(remote);
    return &effect->message;
}

struct gw_message *gw_sched_send_with(struct gw_sched *sched, struct gw_remote *remote,
                                      uint32_t type, uint64_t token)
{
    uint64_t *tokens = gw_arena_copy(&sched->step.effects->arena, &token, sizeof token);
    GW_MUST_PTR(tokens);
    struct gw_message *message = gw_sched_send(sched, remote, type);
    struct gw_effect *effect =
        &sched->step.effects->list.items[sched->step.effects->list.count - 1];
    effect->tokens = tokens;
    effect->token_count = 1;
    return message;
}

void gw_sched_send_close(struct gw_sched *sched, struct gw_remote *remote)
{
    gw_sched_send_effect(sched, GW_EFFECT_CLOSE)->peer = remote->peer;
}

const char *gw_sched_send_text(struct gw_sched *sched, const char *text)
{
    char *copy = gw_arena_strdup(&sched->step.effects->arena, text);
    GW_MUST_PTR(copy);
    return copy;
}

struct gw_bin gw_sched_send_bin(struct gw_sched *sched, struct gw_bin bin)
{
    void *copy = gw_arena_copy(&sched->step.effects->arena, bin.data, bin.size);
    GW_MUST_PTR(copy);
    return (struct gw_bin){copy, bin.size};
}

void gw_sched_send_reply(struct gw_sched *sched, struct gw_remote *remote, uint64_t request,
                         const struct gw_error *error)
{
    struct gw_msg_reply *reply = &gw_sched_send(sched, remote, GW_MESSAGE_reply)->reply;
    reply->request = request;
    reply->code = error->code;
    reply->text = error->code ? gw_sched_send_text(sched, error->text) : "";
}
