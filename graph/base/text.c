/* Text in a buffer of fixed size. Also formats sizes and durations, and checks lines. */
#include "graph/base/text.h"

#include "graph/base/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void gw_text_bytes_two(uint64_t one, uint64_t two, char first[static GW_TEXT_BYTES_ROOM],
                       char second[static GW_TEXT_BYTES_ROOM])
{
    if (strcmp(gw_text_bytes(one, first), gw_text_bytes(two, second)) != 0 || one == two)
        return;
    (void)snprintf(first, GW_TEXT_BYTES_ROOM, "%" PRIu64 " B", one);
    (void)snprintf(second, GW_TEXT_BYTES_ROOM, "%" PRIu64 " B", two);
}

/* Rounds a duration to the last digit that is shown. */
static uint64_t rounded(uint64_t ns)
{
    const uint64_t step_ns = ns < GW_NS_PER_US          ? 1
                             : ns < GW_NS_PER_MS        ? GW_NS_PER_US
                             : ns < GW_NS_PER_S         ? GW_NS_PER_MS
                             : ns < 60 * GW_NS_PER_S    ? GW_NS_PER_S / 10
                             : ns < 3600 * GW_NS_PER_S  ? GW_NS_PER_S
                             : ns < 86400 * GW_NS_PER_S ? 60 * GW_NS_PER_S
                                                        : 3600 * GW_NS_PER_S;
    return ns > UINT64_MAX - step_ns ? ns : (ns + step_ns / 2) / step_ns * step_ns;
}

/* Writes a duration of at least a minute in two units. */
static void say_clock(unsigned long long s, char to[static GW_TEXT_DURATION_ROOM])
{
    static const struct {
        unsigned seconds;
        char name;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    size_t i = 0;
    while (s < units[i].seconds)
        i++;
    const unsigned rest = (unsigned)(s % units[i].seconds / units[i + 1].seconds);
    struct gw_text text = {to, GW_TEXT_DURATION_ROOM, 0};
    gw_text_say(&text, "%llu%c", s / units[i].seconds, units[i].name);
    if (rest)
        gw_text_say(&text, "%02u%c", rest, units[i + 1].name);
}

const char *gw_text_duration(uint64_t duration_ns, char to[static GW_TEXT_DURATION_ROOM])
{
    const uint64_t ns = rounded(duration_ns);
    const unsigned long long s = ns / GW_NS_PER_S;
    const unsigned part_ns = (unsigned)(ns % GW_NS_PER_S), tenths = part_ns / 100000000;
    if (s >= 60)
        say_clock(s, to);
    else if (s > 0 || part_ns == 0)
        (void)snprintf(to, GW_TEXT_DURATION_ROOM, tenths ? "%u.%us" : "%us", (unsigned)s, tenths);
    else if (part_ns < GW_NS_PER_US)
        (void)snprintf(to, GW_TEXT_DURATION_ROOM, "%uns", part_ns);
    else if (part_ns < GW_NS_PER_MS)
        (void)snprintf(to, GW_TEXT_DURATION_ROOM, "%uus", part_ns / 1000);
    else
        (void)snprintf(to, GW_TEXT_DURATION_ROOM, "%ums", part_ns / 1000000);
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

const char *gw_text_real(double real, char to[static GW_TEXT_REAL_ROOM])
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(to, GW_TEXT_REAL_ROOM, "%.*g", digits, real);
        if (strtod(to, NULL) == real)
            break;
    }
    return to;
}
