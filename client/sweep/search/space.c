/* Spaces: adding parameters, and finding them. */
#include "client/sweep/search/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gw_space *gw_space_new(void)
{
    return calloc(1, sizeof(struct gw_space));
}

void gw_space_free(struct gw_space *space)
{
    if (!space)
        return;
    struct gw_param *param;
    struct gw_derived *derived;
    char **constraint;
    double **first;
    GW_ARRAY_EACH (&space->params, param)
        gw_param_deinit(param);
    GW_ARRAY_EACH (&space->derived, derived) {
        free(derived->name);
        free(derived->expression);
    }
    GW_ARRAY_EACH (&space->constraints, constraint)
        free(*constraint);
    GW_ARRAY_EACH (&space->first, first)
        free(*first);
    gw_array_deinit(&space->params);
    gw_array_deinit(&space->derived);
    gw_array_deinit(&space->constraints);
    gw_array_deinit(&space->first);
    free(space);
}

size_t gw_space_name_length(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    if (!*text || !strchr(letters, *text))
        return 0;
    size_t length = 1;
    while (text[length] && (strchr(letters, text[length]) || strchr("0123456789.", text[length])))
        length++;
    return length;
}

int32_t gw_space_find(const struct gw_space *space, const char *name, size_t length)
{
    for (size_t i = 0; i < space->params.count; i++) {
        const char *known = space->params.items[i].name;
        if (strncmp(known, name, length) == 0 && !known[length])
            return (int32_t)i;
    }
    return -1;
}

int32_t gw_space_find_derived(const struct gw_space *space, const char *name, size_t length)
{
    for (size_t i = 0; i < space->derived.count; i++) {
        const char *known = space->derived.items[i].name;
        if (strncmp(known, name, length) == 0 && !known[length])
            return (int32_t)i;
    }
    return -1;
}

int gw_space_admit(const struct gw_space *space, const char *name, struct gw_error *error)
{
    const size_t length = strlen(name);
    if (gw_space_find(space, name, length) >= 0 || gw_space_find_derived(space, name, length) >= 0)
        return gw_error_set(error, GW_EEXIST, "the space has it already");
    if (space->params.count + space->derived.count >= GW_SPACE_PARAMS_MAX)
        return gw_error_set(error, GW_ELIMIT, "a space has at most %d parameters",
                            GW_SPACE_PARAMS_MAX);
    return 0;
}

int gw_space_add_param(struct gw_space *space, struct gw_param *param, struct gw_error *error)
{
    int rc = gw_space_admit(space, param->name, error);
    if (rc == 0)
        rc = gw_param_check(param, error);
    if (rc == 0 && space->first.count > 0)
        rc = gw_error_set(error, GW_EINVAL, "add it before the first points");
    if (rc < 0)
        gw_error_prefix(error, "parameter %s", param->name);
    else if ((rc = gw_array_push(&space->params, *param)) < 0)
        gw_error_set(error, rc, "out of memory");
    if (rc < 0)
        gw_param_deinit(param);
    return rc;
}

int gw_space_condition(const struct gw_space *space, struct gw_param *param, const char *other,
                       size_t length, const struct gw_value *value, struct gw_error *error)
{
    const int32_t parent = gw_space_find(space, other, length);
    if (parent < 0)
        return gw_error_set(error, GW_ENOENT, "'%.*s' is no earlier parameter: add it before",
                            (int)length, other);
    const struct gw_param *known = &space->params.items[parent];
    if (known->kind == GW_PARAM_FLOAT)
        return gw_error_set(error, GW_EINVAL,
                            "a condition needs a choice or a whole number, and %s is neither",
                            known->name);
    const double x = gw_param_find(known, value);
    if (isnan(x)) {
        char text[80];
        gw_value_format(value, text, sizeof text);
        return gw_error_set(error, GW_EINVAL, "%s never has the value %s", known->name, text);
    }
    param->parent = parent;
    return gw_array_push(&param->parent_values, x) < 0
               ? gw_error_set(error, GW_ENOMEM, "out of memory")
               : 0;
}

bool gw_space_has(const struct gw_space *space, const double *point, size_t i)
{
    const struct gw_param *param = &space->params.items[i];
    return param->parent < 0 || gw_param_has_parent_value(param, point[param->parent]);
}
