/* Helpers that all files of the core use: memory, texts and effects. */
#include "worker/core/model/core.h"

#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

void *gw_core_alloc(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    GW_MUST_PTR(memory);
    return memory;
}

char *gw_core_strdup(const char *text)
{
    char *copy = strdup(text ? text : "");
    GW_MUST_PTR(copy);
    return copy;
}

void *gw_core_scratch(struct gw_node_core *core, size_t bytes)
{
    void *memory = gw_arena_alloc(&core->effects->arena, bytes ? bytes : 1);
    GW_MUST_PTR(memory);
    return memory;
}

void *gw_core_copy(struct gw_node_core *core, const void *data, size_t bytes)
{
    void *memory = gw_core_scratch(core, bytes);
    if (bytes)
        memcpy(memory, data, bytes);
    return memory;
}

const char *gw_core_text(struct gw_node_core *core, const char *text)
{
    size_t bytes = strlen(text ? text : "") + 1;
    return memcpy(gw_core_scratch(core, bytes), text ? text : "", bytes);
}

struct gw_effect *gw_core_effect(struct gw_node_core *core, uint32_t type)
{
    GW_MUST(gw_array_push(&core->effects->list, (struct gw_effect){.type = type}));
    return &core->effects->list.items[core->effects->list.count - 1];
}

void gw_core_stamp(const struct gw_node_core *core, struct gw_node_link *link,
                   struct gw_message *message)
{
    message->term = core->term;
    message->peer = core->peer;
    /* A heartbeat may overtake other messages, so it has no sequence number */
    if (message->type != GW_MESSAGE_heartbeat)
        message->sequence = ++link->sent;
}

struct gw_effect *gw_core_send(struct gw_node_core *core, struct gw_node_link *link, uint32_t type)
{
    struct gw_effect *effect = gw_core_effect(core, GW_EFFECT_SEND);
    effect->peer = link->peer;
    effect->message.type = type;
    gw_core_stamp(core, link, &effect->message);
    return effect;
}

void gw_core_drop_token(struct gw_node_core *core, uint64_t token)
{
    gw_core_token(core, gw_core_effect(core, GW_EFFECT_DROP_TOKEN), token);
}

/* If no scheduler is connected, the report is dropped. When the connection closed, the same
 * scheduler counted the work of this worker as lost, so it must not hear of it later. A restarted
 * scheduler (a new term) gets the report from orphaned.c. */
void gw_core_tell(struct gw_node_core *core, const struct gw_message *message,
                  struct gw_bin stderr_path)
{
    if (!core->registered)
        return;
    struct gw_effect *effect = gw_core_send(core, core->scheduler, message->type);
    if (message->type == GW_MESSAGE_finished)
        effect->message.finished = message->finished;
    else if (message->type == GW_MESSAGE_failures)
        effect->message.failures = message->failures;
    else
        effect->message.ended = message->ended;
    effect->bytes = stderr_path;
}

struct gw_bin gw_core_packed(struct gw_node_core *core, msgpack_sbuffer *buffer)
{
    struct gw_bin bin = {gw_core_copy(core, buffer->data, buffer->size), (uint32_t)buffer->size};
    msgpack_sbuffer_destroy(buffer);
    return bin;
}

void gw_core_token(struct gw_node_core *core, struct gw_effect *effect, uint64_t token)
{
    effect->tokens = gw_core_copy(core, &token, sizeof token);
    effect->token_count = 1;
}
