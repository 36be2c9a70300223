/* Parses durations, sizes and lists of numbers, and formats sizes. */
#include "client/cli/lib/units.h"

#include "graph/base/clock.h"

#include <ctype.h>
#include <gangway/error.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char gw_units_help[] =
    "A TIME is 90 (seconds), 1h30m, 500ms, 1:30:00 (H:M:S), 90:00 (M:S) or 1-12:00\n"
    "(D-H:M). A SIZE is 100 (bytes), 64M or 1.5G. Every limit accepts `none`: no\n"
    "limit. 0 is nothing, or at once, unless the help of the option says otherwise.\n";

bool gw_units_is_none(const char *text)
{
    return strcmp(text, "none") == 0;
}

struct unit {
    const char *name;
    double factor;
};

/* A name that begins with another name comes before that name. */
static const struct unit durations[] = {
    {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9},
};

/* Parses a plain decimal number. strtod would also accept "inf", "nan" and hexadecimal numbers. */
static const char *parse_decimal(const char *text, double *number)
{
    char *end;
    if (!isdigit((unsigned char)*text) || (text[0] == '0' && (text[1] | 32) == 'x'))
        return NULL;
    size_t length = strspn(text, "0123456789.");
    char digits[32];
    if (length >= sizeof digits)
        return NULL;
    memcpy(digits, text, length);
    digits[length] = '\0';
    *number = strtod(digits, &end);
    return *end == '\0' ? text + length : NULL;
}

/* Parses "D-H:M:S", as Slurm writes times; parts may be missing. All numbers except the first must
 * be in their range: 1:90 is probably a mistake and not two and a half minutes. */
static int parse_clock(const char *text, double *total_ns)
{
    static const double seconds[] = {86400, 3600, 60, 1};
    static const unsigned most[] = {0, 23, 59, 59};
    unsigned fields[4];
    int count = 0;
    const bool days = strchr(text, '-') != NULL;
    for (const char *at = text;; at++) {
        const size_t digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 9 || count == 4)
            return GW_EINVAL;
        fields[count++] = (unsigned)strtoul(at, NULL, 10);
        at += digits;
        if (*at == '\0')
            break;
        if (*at != (days && count == 1 ? '-' : ':'))
            return GW_EINVAL;
    }
    const int first = days ? 0 : 4 - count; /* index of the first number in the tables */
    if (first == 0 && !days)
        return GW_EINVAL;
    *total_ns = 0;
    for (int i = 0; i < count; i++) {
        if (i > 0 && fields[i] > most[first + i])
            return GW_EINVAL;
        *total_ns += fields[i] * seconds[first + i] * 1e9;
    }
    return 0;
}

static int parse_units(const char *text, double *total_ns)
{
    double total = 0, number;
    const char *at = text;
    do {
        at = parse_decimal(at, &number);
        if (!at)
            return GW_EINVAL;
        const struct unit *unit = NULL;
        for (size_t i = 0; i < sizeof durations / sizeof *durations && !unit; i++)
            if (strncmp(at, durations[i].name, strlen(durations[i].name)) == 0)
                unit = &durations[i];
        if (!unit && (*at != '\0' || total > 0))
            return GW_EINVAL;
        total += number * (unit ? unit->factor : 1e9);
        at += unit ? strlen(unit->name) : 0;
    } while (*at);
    *total_ns = total;
    return 0;
}

int gw_units_parse_duration(const char *text, uint64_t *duration_ns)
{
    double total = 0;
    const bool clock = text[strcspn(text, ":-")] != '\0';
    int rc = clock ? parse_clock(text, &total) : parse_units(text, &total);
    if (rc < 0)
        return rc;
    if (total >= 9e18)
        return GW_ELIMIT;
    *duration_ns = (uint64_t)llround(total);
    return 0;
}

/* Parses ".5". Returns what follows. */
static const char *parse_fraction(const char *text, double *part)
{
    char *end;
    *part = strtod(text, &end);
    return end;
}

int gw_units_parse_since(const char *text, uint64_t now_ns, uint64_t *at_ns)
{
    static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
                                          "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"};
    uint64_t ago_ns;
    if (gw_units_parse_duration(text, &ago_ns) == 0) {
        *at_ns = ago_ns < now_ns ? now_ns - ago_ns : 1;
        return 0;
    }
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct tm at = {.tm_isdst = -1};
        const char *end = strptime(text, formats[i], &at);
        double part = 0; /* of a second */
        if (end && *end == '.')
            end = parse_fraction(end, &part);
        const bool utc = end && strcmp(end, "Z") == 0;
        if (!end || (*end && !utc))
            continue;
        const time_t seconds = utc ? timegm(&at) : mktime(&at);
        *at_ns = seconds > 0 ? (uint64_t)seconds * GW_NS_PER_S + (uint64_t)llround(part * 1e9) : 1;
        return 0;
    }
    return GW_EINVAL;
}

void gw_units_format_time(uint64_t at_ns, char text[static GW_UNITS_TIME_ROOM])
{
    const time_t seconds = (time_t)(at_ns / GW_NS_PER_S);
    struct tm at;
    size_t used =
        gmtime_r(&seconds, &at) ? strftime(text, GW_UNITS_TIME_ROOM, "%Y-%m-%dT%H:%M:%S", &at) : 0;
    (void)snprintf(text + used, GW_UNITS_TIME_ROOM - used, ".%03uZ",
                   (unsigned)(at_ns / GW_NS_PER_MS % 1000));
}

int gw_units_parse_size(const char *text, uint64_t *bytes)
{
    static const char prefixes[] = "KMGTP";
    double number;
    const char *at = parse_decimal(text, &number);
    if (!at)
        return GW_EINVAL;
    const char *prefix = *at ? strchr(prefixes, toupper((unsigned char)*at)) : NULL;
    if (prefix) {
        number *= exp2(10.0 * (double)(prefix - prefixes + 1));
        at++;
    }
    if (strcmp(at, "") != 0 && strcmp(at, "B") != 0 && strcmp(at, "b") != 0 &&
        !(prefix && strcmp(at, "iB") == 0))
        return GW_EINVAL;
    if (number >= 9e18)
        return GW_ELIMIT;
    *bytes = (uint64_t)llround(number);
    return 0;
}

void gw_units_format_size(uint64_t bytes, char *text, size_t text_bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double number = (double)bytes;
    size_t i = 0;
    for (; number >= 1024 && i + 1 < sizeof names / sizeof *names; i++)
        number /= 1024;
    snprintf(text, text_bytes, i == 0 || number >= 100 ? "%.0f %s" : "%.1f %s", number, names[i]);
}

int gw_units_parse_ranges(const char *text, struct gw_units_range *ranges)
{
    int count = 0;
    for (;;) {
        unsigned long long first, last;
        int length = 0;
        if (count == GW_UNITS_RANGES_MAX || !isdigit((unsigned char)*text) ||
            sscanf(text, "%18llu%n", &first, &length) != 1)
            return GW_EINVAL;
        text += length;
        last = first;
        if (*text == '-') {
            if (!isdigit((unsigned char)text[1]) ||
                sscanf(text + 1, "%18llu%n", &last, &length) != 1 || last < first)
                return GW_EINVAL;
            text += 1 + length;
        }
        ranges[count++] = (struct gw_units_range){first, last};
        if (*text == '\0')
            return count;
        if (*text++ != ',')
            return GW_EINVAL;
    }
}
