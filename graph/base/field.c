/* Splits a line into fields. */
#include "graph/base/field.h"

#include <stdbool.h>

enum { DIGITS_MAX = 9 };

uint32_t gw_field_number(const char *name, size_t length)
{
    uint32_t number = 0;
    if (length == 0 || length > DIGITS_MAX || name[0] == '0')
        return 0;
    for (size_t i = 0; i < length; i++) {
        if (name[i] < '0' || name[i] > '9')
            return 0;
        number = number * 10 + (uint32_t)(name[i] - '0');
    }
    return number;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Returns the first field at or after *at and moves *at past it. Returns NULL if there is no
 * further field. */
static const char *next_field(const char *line, size_t line_bytes, size_t *at, size_t *bytes)
{
    while (*at < line_bytes && is_blank(line[*at]))
        ++*at;
    const size_t begin = *at;
    while (*at < line_bytes && !is_blank(line[*at]))
        ++*at;
    *bytes = *at - begin;
    return *bytes > 0 ? line + begin : NULL;
}

const char *gw_field_find(const char *line, size_t line_bytes, uint32_t number, size_t *bytes)
{
    const char *field = NULL;
    size_t at = 0;
    for (uint32_t i = 0; i < number && (i == 0 || field); i++)
        field = next_field(line, line_bytes, &at, bytes);
    return field;
}

uint32_t gw_field_count(const char *line, size_t line_bytes)
{
    uint32_t count = 0;
    size_t at = 0, bytes;
    while (next_field(line, line_bytes, &at, &bytes))
        count++;
    return count;
}
