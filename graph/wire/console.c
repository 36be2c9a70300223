/* Frames of a console. A frame whose length exceeds the maximum is an error, which is found before
 * memory is allocated. */
#include "graph/wire/console.h"

#include <string.h>

void gw_console_head(uint8_t head[static GW_CONSOLE_HEAD_BYTES], enum gw_console_kind kind,
                     uint32_t bytes)
{
    head[0] = (uint8_t)kind;
    for (int i = 0; i < 4; i++)
        head[1 + i] = (uint8_t)(bytes >> (8 * i));
}

void gw_console_deinit(struct gw_console *console)
{
    gw_buffer_deinit(&console->pending);
    console->taken = 0;
}

int gw_console_feed(struct gw_console *console, const void *data, size_t bytes)
{
    struct gw_buffer *pending = &console->pending;
    if (console->taken > 0)
        memmove(pending->data, pending->data + console->taken, pending->size - console->taken);
    pending->size -= console->taken;
    console->taken = 0;
    return gw_buffer_append(pending, data, bytes);
}

int gw_console_next(struct gw_console *console, uint8_t *kind, struct gw_bin *data)
{
    size_t left = console->pending.size - console->taken;
    if (left < GW_CONSOLE_HEAD_BYTES)
        return 0;
    const uint8_t *head = console->pending.data + console->taken;
    uint32_t bytes = (uint32_t)head[1] | (uint32_t)head[2] << 8 | (uint32_t)head[3] << 16 |
                     (uint32_t)head[4] << 24;
    if (bytes > GW_CONSOLE_BYTES_MAX)
        return GW_EPROTO;
    if (left < GW_CONSOLE_HEAD_BYTES + bytes)
        return 0;
    *kind = head[0];
    *data = (struct gw_bin){head + GW_CONSOLE_HEAD_BYTES, bytes};
    console->taken += GW_CONSOLE_HEAD_BYTES + bytes;
    return 1;
}
