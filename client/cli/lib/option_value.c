/* Parses values of options and stores them. */
#include "client/cli/lib/option_value.h"

#include "client/cli/lib/option.h"
#include "client/cli/lib/units.h"
#include "graph/base/clock.h"
#include "graph/wire/enums.h"

#include <gangway/options.h>
#include <stdlib.h>

/* Parses an integer in a range. */
static int parse_integer(const struct gw_option *option, const char *text, const long long range[2],
                         long long *number, struct gw_error *error)
{
    char *end;
    *number = strtoll(text, &end, 10); /* a number out of range becomes LLONG_MAX or LLONG_MIN */
    if (end == text || *end)
        return gw_error_set(error, GW_EINVAL, "--%s %s: not a whole number", option->name, text);
    if (*number < range[0])
        return gw_error_set(error, GW_EINVAL, "--%s %s: the minimum is %lld", option->name, text,
                            range[0]);
    if (*number > range[1])
        return gw_error_set(error, GW_EINVAL, "--%s %s: the maximum is %lld", option->name, text,
                            range[1]);
    return 0;
}

static int store_duration(const struct gw_option *option, const char *text, struct gw_error *error)
{
    uint64_t duration_ns = 0;
    const bool none = gw_units_is_none(text);
    int rc = none ? 0 : gw_units_parse_duration(text, &duration_ns);
    if (rc == GW_ELIMIT)
        return gw_error_set(error, GW_EINVAL, "--%s %s: the maximum is 104166d", option->name,
                            text);
    if (rc < 0)
        return gw_error_set(error, GW_EINVAL,
                            "--%s %s: not a duration like 90 (seconds), 1h30m or 1:30:00",
                            option->name, text);
    const bool zero = duration_ns == 0;
    if (option->kind == GW_OPTION_DELAY && zero)
        duration_ns = none ? GW_UNITS_NONE : 1;
    else if ((option->kind == GW_OPTION_PATIENCE && zero) ||
             (option->kind == GW_OPTION_TIMEOUT && none))
        duration_ns = UINT64_MAX;
    *(uint64_t *)option->into = duration_ns;
    return 0;
}

static int store_size(const struct gw_option *option, const char *text, struct gw_error *error)
{
    uint64_t bytes = 0;
    const bool none = gw_units_is_none(text);
    int rc = none ? 0 : gw_units_parse_size(text, &bytes);
    if (rc == GW_ELIMIT)
        return gw_error_set(error, GW_EINVAL, "--%s %s: the maximum is 7993P", option->name, text);
    if (rc < 0)
        return gw_error_set(error, GW_EINVAL, "--%s %s: not a size like 100, 64M or 1.5G",
                            option->name, text);
    if (bytes == 0 && !none && option->kind == GW_OPTION_CAP)
        return gw_error_set(error, GW_EINVAL,
                            "--%s %s: the minimum is 1 byte, or none for no limit", option->name,
                            text);
    if (bytes == 0 && option->kind != GW_OPTION_SIZE)
        bytes = none ? GW_UNITS_NONE : 1;
    *(uint64_t *)option->into = bytes;
    return 0;
}

static int store_since(const struct gw_option *option, const char *text, struct gw_error *error)
{
    const bool none = gw_units_is_none(text);
    const int rc = none ? 0 : gw_units_parse_since(text, gw_clock_wall_ns(), option->into);
    if (rc < 0)
        return gw_error_set(error, GW_EINVAL,
                            "--%s %s: neither a duration like 90 (seconds) or 2h, nor a time like "
                            "2026-11-26T09:30:00",
                            option->name, text);
    if (none)
        *(uint64_t *)option->into = 0;
    return 0;
}

static int store_count(const struct gw_option *option, const char *text, struct gw_error *error)
{
    const enum gw_option_kind kind = option->kind;
    const bool least_1 = kind == GW_OPTION_LIMIT || kind == GW_OPTION_COUNT;
    const bool wide = kind == GW_OPTION_U32 || kind == GW_OPTION_LINES || kind == GW_OPTION_RETRIES;
    uint32_t *into = option->into;
    long long number;
    if (kind != GW_OPTION_U32 && kind != GW_OPTION_COUNT && gw_units_is_none(text)) {
        *into = kind == GW_OPTION_BUDGET    ? GW_UNLIMITED
                : kind == GW_OPTION_RETRIES ? GW_RETRIES_MAX
                                            : GW_NONE;
        return 0;
    }
    int rc = parse_integer(
        option, text, (const long long[]){least_1, wide ? UINT32_MAX : INT32_MAX}, &number, error);
    if (rc == 0)
        *into = number == 0 && kind == GW_OPTION_BUDGET ? GW_NONE : (uint32_t)number;
    return rc;
}

static int store_fraction(const struct gw_option *option, const char *text, struct gw_error *error)
{
    char *end;
    const double part = strtod(text, &end);
    if (!gw_units_is_none(text) && (end == text || *end || !(part >= 0 && part <= 1)))
        return gw_error_set(error, GW_EINVAL,
                            "--%s %s must be a fraction from 0 to 1 (like 0.8), or none",
                            option->name, text);
    *(const char **)option->into = text;
    return 0;
}

static int store_weight(const struct gw_option *option, const char *text, struct gw_error *error)
{
    char *end;
    const double weight = strtod(text, &end);
    if (end == text || *end || !(weight >= 0 && weight <= 1e9))
        return gw_error_set(error, GW_EINVAL, "--%s %s: not a number from 0 to 1e9", option->name,
                            text);
    *(double *)option->into = weight;
    return 0;
}

int gw_option_value_store(const struct gw_option *option, const char *text, struct gw_error *error)
{
    long long number;
    int rc;
    switch (option->kind) {
    case GW_OPTION_FLAG:
        *(bool *)option->into = true;
        return 0;
    case GW_OPTION_WEIGHT:
        return store_weight(option, text, error);
    case GW_OPTION_FRACTION:
        return store_fraction(option, text, error);
    case GW_OPTION_TEXT:
        *(const char **)option->into = text;
        return 0;
    case GW_OPTION_LIST: {
        const char **list = option->into;
        if (*list)
            return gw_error_set(error, GW_EINVAL, "--%s is given twice: write --%s %s,%s",
                                option->name, option->name, *list, text);
        *list = text;
        return 0;
    }
    case GW_OPTION_TEXTS: {
        struct gw_option_texts *texts = option->into;
        const char **grown = realloc(texts->items, (texts->count + 2) * sizeof *grown);
        if (!grown)
            return gw_error_set(error, GW_EINVAL, "out of memory");
        texts->items = grown;
        texts->items[texts->count++] = text;
        texts->items[texts->count] = NULL;
        return 0;
    }
    case GW_OPTION_LIMIT:
    case GW_OPTION_BUDGET:
    case GW_OPTION_LINES:
    case GW_OPTION_RETRIES:
    case GW_OPTION_COUNT:
    case GW_OPTION_U32:
        return store_count(option, text, error);
    case GW_OPTION_U64:
        rc = parse_integer(option, text, (const long long[]){0, INT64_MAX}, &number, error);
        if (rc == 0)
            *(uint64_t *)option->into = (uint64_t)number;
        return rc;
    case GW_OPTION_I32:
        rc = parse_integer(option, text, (const long long[]){INT32_MIN, INT32_MAX}, &number, error);
        if (rc == 0)
            *(int32_t *)option->into = (int32_t)number;
        return rc;
    case GW_OPTION_DURATION:
    case GW_OPTION_DELAY:
    case GW_OPTION_TIMEOUT:
    case GW_OPTION_PATIENCE:
        return store_duration(option, text, error);
    case GW_OPTION_SINCE:
        return store_since(option, text, error);
    case GW_OPTION_SIZE:
    case GW_OPTION_CAP:
    case GW_OPTION_ROOM:
        return store_size(option, text, error);
    case GW_OPTION_ROWS:
        break;
    }
    return gw_error_set(error, GW_EINVAL, "--%s: unknown kind", option->name);
}
