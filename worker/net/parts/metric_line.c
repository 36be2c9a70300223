/* Finds NAME=NUMBER in a line. It works from one "=" to the next, so it reads each byte of a line
 * about twice, however long the line is. */
#include "worker/net/parts/metric_line.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES_MAX = 400 }; /* longer numbers are left out */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '|';
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

void gw_metric_line_init(struct gw_metric_names *names, const char *list)
{
    *names = (struct gw_metric_names){0};
    while (*list && names->count < GW_METRICS_READ_MAX) {
        const size_t bytes = strcspn(list, ",");
        if (bytes > 0 && bytes < GW_METRIC_NAME_BYTES)
            memcpy(names->names[names->count++], list, bytes);
        list += bytes + (list[bytes] == ',');
    }
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

/* Returns the end of a number that begins at `at`. *whole: it has no fraction and no exponent. An
 * end at `at` or behind a lone sign means that there is no number. */
static const char *number_end(const char *at, const char *end, bool *whole)
{
    if (at < end && (*at == '+' || *at == '-'))
        at++;
    at = skip_digits(at, end);
    *whole = true;
    if (end - at >= 2 && *at == '.' && is_digit(at[1])) {
        at = skip_digits(at + 1, end);
        *whole = false;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        const char *digits = at + 1;
        if (digits < end && (*digits == '+' || *digits == '-'))
            digits++;
        if (digits < end && is_digit(*digits)) {
            at = skip_digits(digits, end);
            *whole = false;
        }
    }
    return at;
}

struct pair {
    const char *name, *number;
    size_t name_bytes;
    bool whole;
    char text[NUMBER_BYTES_MAX + 1]; /* of the number, only of a pair that is looked for */
};

static bool is_named(const struct pair *pair, const char *name)
{
    return strlen(name) == pair->name_bytes && memcmp(name, pair->name, pair->name_bytes) == 0;
}

static void store_pair(const struct gw_metric_names *names, struct pair *pair, const char *end,
                       bool *has_step, struct gw_metric_line *found)
{
    const bool step = is_named(pair, "step"), epoch = !step && is_named(pair, "epoch");
    const size_t bytes = (size_t)(end - pair->number);
    bool wanted = step || epoch;
    char *over;
    for (uint32_t i = 0; !wanted && i < names->count; i++)
        wanted = is_named(pair, names->names[i]);
    if (!wanted || bytes == 0 || bytes > NUMBER_BYTES_MAX)
        return;
    memcpy(pair->text, pair->number, bytes);
    pair->text[bytes] = '\0';
    const double value = strtod(pair->text, &over);
    if (over == pair->text)
        return; /* a lone sign or exponent */
    for (uint32_t i = 0; i < names->count; i++) {
        if (!is_named(pair, names->names[i]))
            continue;
        found->values[i] = value;
        found->found |= UINT32_C(1) << i;
    }
    if (!pair->whole || !(step || (epoch && !*has_step)))
        return;
    found->step = strtoll(pair->text, NULL, 10);
    found->has_step = true;
    *has_step |= step;
}

void gw_metric_line_read(const struct gw_metric_names *names, const char *line, size_t bytes,
                         struct gw_metric_line *found)
{
    const char *from = line, *end = line + bytes, *equals;
    bool has_step = false; /* step=N takes precedence over epoch=N */
    *found = (struct gw_metric_line){0};
    for (const char *at = line; at < end && (equals = memchr(at, '=', (size_t)(end - at)));) {
        struct pair pair;
        const char *name_end = equals;
        while (name_end > from && is_blank(name_end[-1]))
            name_end--;
        pair.name = name_end;
        while (pair.name > from && is_name(pair.name[-1]))
            pair.name--;
        pair.name_bytes = (size_t)(name_end - pair.name);
        at = from = equals + 1;
        if (pair.name_bytes == 0)
            continue;
        while (at < end && is_blank(*at))
            at++;
        pair.number = at;
        at = from = number_end(at, end, &pair.whole);
        store_pair(names, &pair, at, &has_step, found);
    }
}
