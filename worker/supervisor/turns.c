/* Waiting spawn messages are stored as frames, since a message's data is overwritten by the next
 * message that is read. */
#include "worker/supervisor/turns.h"

#include "graph/base/must.h"
#include "graph/wire/frame.h"

#include <string.h>

void gw_turns_add(struct gw_turns *turns, const struct gw_msg_spawn *spawn)
{
    const struct gw_message message = {.type = GW_MESSAGE_spawn, .spawn = *spawn};
    struct gw_turn turn = {.process = spawn->process};
    GW_MUST(gw_message_encode(&message, 0, &turn.frame));
    GW_MUST(gw_array_push(&turns->list, turn));
}

static void take_out(struct gw_turns *turns, size_t at)
{
    struct gw_turn *items = turns->list.items;
    memmove(items + at, items + at + 1, (--turns->list.count - at) * sizeof *items);
}

bool gw_turns_take(struct gw_turns *turns, struct gw_msg_spawn *spawn)
{
    struct gw_message message;
    if (!turns->list.count)
        return false;
    gw_buffer_deinit(&turns->frame);
    gw_arena_deinit(&turns->arena);
    turns->frame = turns->list.items[0].frame;
    take_out(turns, 0);
    GW_MUST(gw_message_decode(turns->frame.data + GW_FRAME_HEADER_BYTES,
                              turns->frame.size - GW_FRAME_HEADER_BYTES, &turns->arena, &message,
                              NULL));
    *spawn = message.spawn;
    return true;
}

bool gw_turns_drop(struct gw_turns *turns, uint64_t process)
{
    for (size_t i = 0; i < turns->list.count; i++) {
        if (turns->list.items[i].process != process)
            continue;
        gw_buffer_deinit(&turns->list.items[i].frame);
        take_out(turns, i);
        return true;
    }
    return false;
}
