/* Text in a buffer of fixed size. Also formats sizes and durations, and checks lines. */
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

const char *gw_text_seconds(uint64_t duration_ns, char to[static GW_TEXT_SECONDS_ROOM])
{
    double s = (double)duration_ns / 1e9;
    if (duration_ns < 1000)
        (void)snprintf(to, GW_TEXT_SECONDS_ROOM, "%u ns", (unsigned)duration_ns);
    else if (duration_ns < 1000000)
        (void)snprintf(to, GW_TEXT_SECONDS_ROOM, "%.3g us", s * 1e6);
    else
        (void)snprintf(to, GW_TEXT_SECONDS_ROOM, s < 1000 ? "%.3g s" : "%.0f s", s);
    return to;
}

/* Decodes the UTF-8 character at `at`. Returns its length in bytes, or 0 if it is invalid. */
static size_t character(const unsigned char *at, size_t left, uint32_t *out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = at[0] < 0x80             ? 1
                  : (at[0] & 0xe0) == 0xc0 ? 2
                  : (at[0] & 0xf0) == 0xe0 ? 3
                  : (at[0] & 0xf8) == 0xf0 ? 4
                                           : 0;
    if (size == 0 || size > left)
        return 0;
    uint32_t c = size == 1 ? at[0] : at[0] & (0x7fU >> size);
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (at[i] & 0x3f);
    }
    *out = c;
    return c < least[size] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : size;
}

/* Returns true for control characters. These include characters that end a line (U+2028, U+2029)
 * and characters that change the direction of the text that follows (U+202A to U+202E, U+2066 to
 * U+2069). */
static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

bool gw_text_is_line(const char *bytes, size_t count)
{
    const unsigned char *at = (const unsigned char *)bytes;
    while (count > 0) {
        uint32_t c;
        size_t size = character(at, count, &c);
        if (size == 0 || is_control(c))
            return false;
        at += size;
        count -= size;
    }
    return true;
}
