/* Text in a buffer of fixed size. */
#include "graph/base/text.h"

#include <stdarg.h>
#include <stdio.h>

void gw_text_say(struct gw_text *text, const char *format, ...)
{
    va_list args;
    if (text->used >= text->size)
        return;
    va_start(args, format);
    int n = vsnprintf(text->to + text->used, text->size - text->used, format, args);
    va_end(args);
    text->used += n > 0 ? (size_t)n : 0;
}

const char *gw_text_bytes(uint64_t bytes, char to[static GW_TEXT_BYTES_ROOM])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double size = (double)bytes;
    size_t unit = 0;
    for (; size >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        size /= 1024;
    (void)snprintf(to, GW_TEXT_BYTES_ROOM, unit ? "%.1f %s" : "%.0f %s", size, units[unit]);
    return to;
}
