/* Points: derived parameters, constraints, first points; a point as values. */
#include "client/sweep/search/point.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/sweep/search/expression.h"

/* Splits NAME=EXPRESSION. */
int gw_space_derive(struct gw_space *space, const char *text, struct gw_error *error)
{
    if (!space)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    const size_t length = gw_space_name_length(text);
    if (length == 0 || text[length] != '=')
        return gw_error_set(error, GW_EINVAL,
                            "'%s' is no derived parameter: write NAME=EXPRESSION, for example "
                            "batch=global/gpus",
                            text);
    struct gw_derived derived = {strndup(text, length), strdup(text + length + 1)};
    int rc =
        derived.name && derived.expression ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc == 0)
        rc = gw_space_admit(space, derived.name, error);
    if (rc == 0)
        rc = gw_expression_check(space, derived.expression, false, error);
    if (rc == 0 && gw_array_push(&space->derived, derived) < 0)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc < 0) {
        gw_error_prefix(error, "parameter %.*s", (int)length, text);
        free(derived.name);
        free(derived.expression);
    }
    return rc;
}

int gw_space_require(struct gw_space *space, const char *text, struct gw_error *error)
{
    char *copy = space ? strdup(text) : NULL;
    if (!copy)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    int rc = gw_expression_check(space, text, true, error);
    if (rc < 0)
        gw_error_prefix(error, "constraint '%s'", text);
    else if (gw_array_push(&space->constraints, copy) < 0)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc < 0)
        free(copy);
    return rc;
}

/* Reads the values of a first point. A parameter whose parent excludes it is refused. */
static int read_first(const struct gw_space *space, double *point, const struct gw_value *values,
                      struct gw_error *error)
{
    for (size_t i = 0; i < space->params.count; i++)
        point[i] = NAN;
    for (size_t i = 0; i < gw_value_count(values); i++) {
        const char *name = gw_value_key(values, i);
        const int32_t at = gw_space_find(space, name, strlen(name));
        if (at < 0)
            return gw_error_set(error, GW_EINVAL, "first point: the space has no parameter %s",
                                name);
        point[at] = gw_param_find(&space->params.items[at], gw_value_at(values, i));
        if (isnan(point[at]))
            return gw_error_set(error, GW_EINVAL,
                                "first point: the value of %s is outside of its range", name);
    }
    bool complete = true;
    for (size_t i = 0; i < space->params.count; i++) {
        const struct gw_param *param = &space->params.items[i];
        const double parent = param->parent >= 0 ? point[param->parent] : NAN;
        if (!isnan(parent) && !isnan(point[i]) && !gw_param_has_parent_value(param, parent))
            return gw_error_set(error, GW_EINVAL,
                                "first point: %s does not exist with this value of %s", param->name,
                                space->params.items[param->parent].name);
        complete &= !isnan(point[i]) || !gw_space_has(space, point, i);
    }
    if (complete && !gw_point_admits(space, point))
        return gw_error_set(error, GW_EINVAL, "first point: a constraint is not met");
    return 0;
}

int gw_space_first(struct gw_space *space, const struct gw_value *values, struct gw_error *error)
{
    double *point = space ? calloc(space->params.count + 1, sizeof *point) : NULL;
    if (!point || !values) {
        free(point);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    int rc = gw_value_type(values) == GW_DICT
                 ? read_first(space, point, values, error)
                 : gw_error_set(error, GW_EINVAL, "first point: write a dict of names and values");
    if (rc == 0 && gw_array_push(&space->first, point) < 0)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc < 0)
        free(point);
    return rc;
}

bool gw_point_admits(const struct gw_space *space, const double *point)
{
    struct gw_derived_numbers derived;
    if (space->constraints.count > 0)
        gw_expression_derive(&derived, space, point);
    for (size_t i = 0; i < space->constraints.count; i++)
        if (!gw_expression_is_met(space, point, &derived, space->constraints.items[i]))
            return false;
    return true;
}

struct gw_value *gw_point_values(const struct gw_space *space, const double *point)
{
    struct gw_derived_numbers derived;
    struct gw_value *values = gw_dict();
    int rc = values ? 0 : GW_ENOMEM;
    gw_expression_derive(&derived, space, point);
    for (size_t i = 0; rc == 0 && i < space->params.count; i++)
        if (!isnan(point[i]))
            rc = gw_dict_set(values, space->params.items[i].name,
                             gw_param_value(&space->params.items[i], point[i]));
    for (size_t i = 0; rc == 0 && i < space->derived.count; i++) {
        const double x = derived.items[i];
        const bool whole = fabs(x) <= 9007199254740992.0 && x == floor(x);
        if (!isnan(x))
            rc = gw_dict_set(values, space->derived.items[i].name,
                             whole ? gw_i64((int64_t)x) : gw_f64(x));
    }
    if (rc < 0) {
        gw_value_unref(values);
        return NULL;
    }
    return values;
}
