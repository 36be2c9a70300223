/* Evaluates expressions by recursive descent, from their text: they are short. */
#include "client/sweep/search/expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32 }; /* parentheses and signs in each other */

struct parse {
    const struct gw_space *space;
    const double *point; /* NULL: only check */
    const char *at;
    const struct gw_derived_numbers *derived;
    bool lacks; /* the point lacks a parameter of the expression */
    int depth;
    struct gw_error *error;
    int rc;
};

static double refuse(struct parse *parse, const char *what)
{
    if (parse->rc == 0)
        parse->rc = *parse->at
                        ? gw_error_set(parse->error, GW_EINVAL, "%s at '%.40s'", what, parse->at)
                        : gw_error_set(parse->error, GW_EINVAL, "%s at the end", what);
    return NAN;
}

static char next_char(struct parse *parse)
{
    parse->at += strspn(parse->at, " \t");
    return *parse->at;
}

/* The number of a parameter or derived parameter. `known` is false if there is no such parameter,
 * or it has values that are no numbers. */
static double read_param(struct parse *parse, size_t length, bool *known)
{
    const int32_t derived = gw_space_find_derived(parse->space, parse->at, length);
    const int32_t at = gw_space_find(parse->space, parse->at, length);
    const double *point = parse->point;
    *known = at >= 0 || derived >= 0;
    if (derived >= 0 && point) {
        parse->lacks |= parse->derived->lacks[derived];
        return parse->derived->items[derived];
    }
    if (at < 0)
        return NAN;
    const struct gw_param *param = &parse->space->params.items[at];
    for (size_t i = 0; !point && i < param->choices.count; i++)
        *known &= !isnan(gw_param_number(param, (double)i));
    const bool has = point && !isnan(point[at]);
    parse->lacks |= !has;
    return has ? gw_param_number(param, point[at]) : NAN;
}

static double read_name(struct parse *parse, size_t length)
{
    bool known;
    const double x = read_param(parse, length, &known);
    if (!known && parse->rc == 0)
        parse->rc = gw_error_set(parse->error, GW_EINVAL,
                                 "'%.*s' is no earlier parameter whose values are numbers",
                                 (int)length, parse->at);
    parse->at += length;
    return x;
}

static double read_sum(struct parse *parse);

static double read_factor(struct parse *parse)
{
    const char c = next_char(parse);
    if (parse->depth >= DEPTH_MAX)
        return refuse(parse, "the expression is nested too deeply");
    if (c == '-' || c == '(') {
        parse->at++;
        parse->depth++;
        const double x = c == '-' ? -read_factor(parse) : read_sum(parse);
        parse->depth--;
        if (c == '(' && next_char(parse) != ')')
            return refuse(parse, "')' is missing");
        parse->at += c == '(';
        return x;
    }
    const size_t length = gw_space_name_length(parse->at);
    if (length > 0)
        return read_name(parse, length);
    char *end;
    const bool number = (c >= '0' && c <= '9') || c == '.';
    const double x = number ? strtod(parse->at, &end) : NAN;
    if (!number || end == parse->at || !isfinite(x))
        return refuse(parse, "a number or the name of a parameter is missing");
    parse->at = end;
    return x;
}

static double read_product(struct parse *parse)
{
    double x = read_factor(parse);
    for (char c = next_char(parse); parse->rc == 0 && (c == '*' || c == '/');
         c = next_char(parse)) {
        parse->at++;
        const double y = read_factor(parse);
        x = c == '*' ? x * y : x / y;
    }
    return x;
}

static double read_sum(struct parse *parse)
{
    double x = read_product(parse);
    for (char c = next_char(parse); parse->rc == 0 && (c == '+' || c == '-');
         c = next_char(parse)) {
        parse->at++;
        const double y = read_product(parse);
        x = c == '+' ? x + y : x - y;
    }
    return x;
}

/* Whether a comparison is met. */
static bool read_comparison(struct parse *parse)
{
    static const char *const operators[] = {"<=", ">=", "==", "!=", "<", ">"};
    const double x = read_sum(parse);
    next_char(parse);
    size_t i = 0;
    while (i < 6 && strncmp(parse->at, operators[i], strlen(operators[i])) != 0)
        i++;
    if (i == 6) {
        refuse(parse, "one of < <= > >= == != is missing");
        return false;
    }
    parse->at += strlen(operators[i]);
    const double y = read_sum(parse);
    if (isnan(x) || isnan(y))
        return false;
    const bool met[] = {x <= y, x >= y, x == y, x != y, x<y, x> y};
    return met[i];
}

int gw_expression_check(const struct gw_space *space, const char *text, bool constraint,
                        struct gw_error *error)
{
    struct parse parse = {.space = space, .at = text, .error = error};
    constraint ? read_comparison(&parse) : read_sum(&parse);
    if (parse.rc == 0 && next_char(&parse))
        refuse(&parse, "unexpected text");
    return parse.rc;
}

void gw_expression_derive(struct gw_derived_numbers *derived, const struct gw_space *space,
                          const double *point)
{
    for (size_t i = 0; i < space->derived.count; i++) {
        struct parse parse = {space, point, space->derived.items[i].expression, .derived = derived};
        derived->items[i] = read_sum(&parse);
        derived->lacks[i] = parse.lacks;
    }
}

bool gw_expression_is_met(const struct gw_space *space, const double *point,
                          const struct gw_derived_numbers *derived, const char *text)
{
    struct parse parse = {space, point, text, .derived = derived};
    const bool met = read_comparison(&parse);
    return met || parse.lacks;
}
