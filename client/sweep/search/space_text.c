/* Parameters from text: what `--param` takes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/sweep/search/space.h"

static const char usage[] = "write a choice (1,4 or adam|sgd), a range (0..1, log:1e-4..1e-1, "
                            "int:1..8, int-log:16..1024) or a range with a step (0..1:0.1)";

/* A word as a value: true, false, a number, or a text. */
static struct gw_value *read_word(const char *word, size_t length)
{
    char *copy = strndup(word, length), *end;
    if (!copy)
        return NULL;
    struct gw_value *value;
    const bool numeric = *copy && strspn(copy, "+-.0123456789eE") == length;
    const double x = numeric ? strtod(copy, &end) : 0;
    if (strcmp(copy, "true") == 0 || strcmp(copy, "false") == 0)
        value = gw_bool(*copy == 't');
    else if (!numeric || *end || !isfinite(x))
        value = gw_str(copy);
    else if (!strpbrk(copy, ".eE") && fabs(x) <= 9007199254740992.0)
        value = gw_i64((int64_t)x);
    else
        value = gw_f64(x);
    free(copy);
    return value;
}

/* Calls `each` for the words between , or |. */
static int read_words(const char *text, size_t length,
                      int (*each)(void *to, struct gw_value *value, struct gw_error *error),
                      void *to, struct gw_error *error)
{
    for (size_t from = 0; from <= length;) {
        size_t end = from + strcspn(text + from, ",|");
        end = end < length ? end : length;
        size_t first = from, after = end;
        while (first < after && text[first] == ' ')
            first++;
        while (after > first && text[after - 1] == ' ')
            after--;
        if (after == first)
            return gw_error_set(error, GW_EINVAL, "a value is missing in '%.*s': %s", (int)length,
                                text, usage);
        struct gw_value *value = read_word(text + first, after - first);
        if (!value)
            return gw_error_set(error, GW_ENOMEM, "out of memory");
        const int rc = each(to, value, error);
        if (rc < 0)
            return rc;
        from = end + 1;
    }
    return 0;
}

static int add_choice(void *to, struct gw_value *value, struct gw_error *error)
{
    struct gw_param *param = to;
    if (gw_array_push(&param->choices, value) < 0) {
        gw_value_unref(value);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    return 0;
}

struct condition {
    const struct gw_space *space;
    struct gw_param *param;
    const char *other;
    size_t length;
};

static int add_condition(void *to, struct gw_value *value, struct gw_error *error)
{
    const struct condition *on = to;
    const int rc = gw_space_condition(on->space, on->param, on->other, on->length, value, error);
    gw_value_unref(value);
    return rc;
}

/* ` if OTHER=VALUES` */
static int read_condition(const struct gw_space *space, struct gw_param *param, const char *text,
                          struct gw_error *error)
{
    text += strspn(text, " ");
    struct condition on = {space, param, text, gw_space_name_length(text)};
    if (on.length == 0 || text[on.length] != '=' || !text[on.length + 1])
        return gw_error_set(error, GW_EINVAL, "write a condition as ' if OTHER=VALUE'");
    text += on.length + 1;
    return read_words(text, strlen(text), add_condition, &on, error);
}

static bool read_number(const char **text, double *x)
{
    char *end;
    if (!strchr("+-.0123456789", **text) || !**text)
        return false;
    /* "1..8": strtod would take "1." */
    const char *dots = strstr(*text, "..");
    char number[64];
    const size_t length = dots ? (size_t)(dots - *text) : strlen(*text);
    if (length == 0 || length >= sizeof number)
        return false;
    memcpy(number, *text, length);
    number[length] = 0;
    *x = strtod(number, &end);
    *text += end - number;
    return end != number;
}

/* LOW..HIGH or LOW..HIGH:STEP, to the end of the text. */
static bool read_range(struct gw_param *param, const char *text)
{
    if (!read_number(&text, &param->low) || strncmp(text, "..", 2) != 0)
        return false;
    text += 2;
    if (!read_number(&text, &param->high))
        return false;
    param->step = param->kind == GW_PARAM_INT;
    if (*text == ':') {
        text++;
        if (!read_number(&text, &param->step))
            return false;
        if (param->step == 0)
            param->step = -1; /* refused by gw_param_check */
    }
    return !*text;
}

static const struct kind {
    const char *prefix;
    enum gw_param_kind kind;
    bool log;
} kinds[] = {{"uniform:", GW_PARAM_FLOAT, false},
             {"log:", GW_PARAM_FLOAT, true},
             {"int:", GW_PARAM_INT, false},
             {"int-log:", GW_PARAM_INT, true}};

int gw_space_text_read(const struct gw_space *space, struct gw_param *param, const char *text,
                       struct gw_error *error)
{
    const char *condition = strstr(text, " if ");
    char *values = strndup(text, condition ? (size_t)(condition - text) : strlen(text));
    if (!values)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    const char *range = NULL;
    param->kind = GW_PARAM_CHOICE;
    param->parent = GW_PARAM_NO_PARENT;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !range; i++)
        if (strncmp(values, kinds[i].prefix, strlen(kinds[i].prefix)) == 0) {
            range = values + strlen(kinds[i].prefix);
            param->kind = kinds[i].kind;
            param->log = kinds[i].log;
        }
    const char *plain = values;
    double x;
    if (!range && !strpbrk(values, ",|") && read_number(&plain, &x) &&
        strncmp(plain, "..", 2) == 0) {
        range = values;
        param->kind = GW_PARAM_FLOAT;
    }
    const char *high = plain + 1;
    if (!range && *plain == '-' && read_number(&high, &x) && !*high) {
        const int rc = gw_error_set(error, GW_EINVAL, "'%s' is no range: write %.*s..%s", values,
                                    (int)(plain - values), values, plain + 1);
        free(values);
        return rc;
    }
    int rc;
    if (range || (strstr(values, "..") && !strpbrk(values, ",|"))) /* a mistyped range is no text */
        rc = range && read_range(param, range)
                 ? 0
                 : gw_error_set(error, GW_EINVAL, "'%s' is no range: %s", values, usage);
    else
        rc = read_words(values, strlen(values), add_choice, param, error);
    if (rc == 0 && condition)
        rc = read_condition(space, param, condition + strlen(" if "), error);
    free(values);
    return rc;
}

int gw_space_add(struct gw_space *space, const char *text, struct gw_error *error)
{
    if (!space)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    const size_t length = gw_space_name_length(text);
    if (length == 0 || text[length] != '=')
        return gw_error_set(error, GW_EINVAL,
                            "'%s' is no parameter: write NAME=VALUES, for example "
                            "lr=log:1e-4..1e-1, layers=int:1..8 or opt=adam|sgd",
                            text);
    struct gw_param param = {.name = strndup(text, length)};
    if (!param.name)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    const int rc = gw_space_text_read(space, &param, text + length + 1, error);
    if (rc == 0)
        return gw_space_add_param(space, &param, error);
    gw_error_prefix(error, "parameter %s", param.name);
    gw_param_deinit(&param);
    return rc;
}
