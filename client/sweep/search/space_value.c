/* Parameters from a dict: what a JSON file of a space holds. */
#include <stdlib.h>
#include <string.h>

#include "client/sweep/search/space.h"

static int read_choices(struct gw_param *param, const struct gw_value *list, struct gw_error *error)
{
    param->kind = GW_PARAM_CHOICE;
    for (size_t i = 0; i < gw_value_count(list); i++) {
        struct gw_value *choice = gw_value_at(list, i);
        const enum gw_value_type type = gw_value_type(choice);
        if (type != GW_BOOL && type != GW_I64 && type != GW_F64 && type != GW_STR)
            return gw_error_set(error, GW_EINVAL,
                                "a choice is a bool, a number or a string, not %s",
                                gw_value_type_name(type));
        if (gw_array_push(&param->choices, gw_value_ref(choice)) < 0) {
            gw_value_unref(choice);
            return gw_error_set(error, GW_ENOMEM, "out of memory");
        }
    }
    return 0;
}

static int read_ends(struct gw_param *param, const char *kind, const struct gw_value *ends,
                     const struct gw_value *step, struct gw_error *error)
{
    param->kind = strncmp(kind, "int", 3) == 0 ? GW_PARAM_INT : GW_PARAM_FLOAT;
    param->log = strstr(kind, "log") != NULL;
    param->step = param->kind == GW_PARAM_INT;
    if (gw_value_type(ends) != GW_LIST || gw_value_count(ends) != 2 ||
        gw_value_get_f64(gw_value_at(ends, 0), &param->low, NULL) < 0 ||
        gw_value_get_f64(gw_value_at(ends, 1), &param->high, NULL) < 0 ||
        (step && gw_value_get_f64(step, &param->step, NULL) < 0))
        return gw_error_set(error, GW_EINVAL,
                            "write {\"%s\": [LOW, HIGH]}, and perhaps \"step\": NUMBER", kind);
    if (step && param->step == 0)
        param->step = -1; /* refused by gw_param_check */
    return 0;
}

static int read_condition(const struct gw_space *space, struct gw_param *param,
                          const struct gw_value *condition, struct gw_error *error)
{
    if (gw_value_type(condition) != GW_DICT || gw_value_count(condition) != 1)
        return gw_error_set(error, GW_EINVAL, "write \"if\": {\"OTHER\": VALUE}");
    const char *other = gw_value_key(condition, 0);
    const struct gw_value *values = gw_value_at(condition, 0);
    if (gw_value_type(values) != GW_LIST)
        return gw_space_condition(space, param, other, strlen(other), values, error);
    if (gw_value_count(values) == 0)
        return gw_error_set(error, GW_EINVAL, "the condition on %s has no value", other);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < gw_value_count(values); i++)
        rc = gw_space_condition(space, param, other, strlen(other), gw_value_at(values, i), error);
    return rc;
}

static int read_dict(const struct gw_space *space, struct gw_param *param,
                     const struct gw_value *dict, struct gw_error *error)
{
    const char *kind = NULL;
    for (size_t i = 0; i < gw_value_count(dict); i++) {
        const char *key = gw_value_key(dict, i);
        if (strcmp(key, "if") == 0 || strcmp(key, "step") == 0)
            continue;
        if (kind || (strcmp(key, "uniform") && strcmp(key, "log") && strcmp(key, "int") &&
                     strcmp(key, "int-log") && strcmp(key, "choice")))
            return gw_error_set(error, GW_EINVAL,
                                "unexpected \"%s\": write one of \"uniform\", \"log\", \"int\", "
                                "\"int-log\" and \"choice\", and perhaps \"step\" and \"if\"",
                                key);
        kind = key;
    }
    if (!kind)
        return gw_error_set(
            error, GW_EINVAL,
            "write one of \"uniform\", \"log\", \"int\", \"int-log\" and \"choice\"");
    const struct gw_value *step = gw_value_find(dict, "step"), *given = gw_value_find(dict, kind);
    int rc;
    if (strcmp(kind, "choice") != 0)
        rc = read_ends(param, kind, given, step, error);
    else if (gw_value_type(given) != GW_LIST || step)
        rc = gw_error_set(error, GW_EINVAL, "write {\"choice\": [VALUES]}, without a step");
    else
        rc = read_choices(param, given, error);
    const struct gw_value *condition = gw_value_find(dict, "if");
    return rc == 0 && condition ? read_condition(space, param, condition, error) : rc;
}

static int read_value(const struct gw_space *space, struct gw_param *param, struct gw_value *value,
                      struct gw_error *error)
{
    const char *text;
    switch (gw_value_type(value)) {
    case GW_STR:
        return gw_value_get_str(value, &text, error) < 0
                   ? GW_EINVAL
                   : gw_space_text_read(space, param, text, error);
    case GW_LIST:
        return read_choices(param, value, error);
    case GW_DICT:
        return read_dict(space, param, value, error);
    case GW_BOOL:
    case GW_I64:
    case GW_F64:
        param->kind = GW_PARAM_CHOICE;
        if (gw_array_push(&param->choices, gw_value_ref(value)) == 0)
            return 0;
        gw_value_unref(value);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    default:
        return gw_error_set(error, GW_EINVAL, "write a text, a list, a number or a dict, not %s",
                            gw_value_type_name(gw_value_type(value)));
    }
}

static int add_value(struct gw_space *space, const char *name, struct gw_value *value,
                     struct gw_error *error)
{
    if (gw_space_name_length(name) != strlen(name) || !*name)
        return gw_error_set(error, GW_EINVAL,
                            "'%s' is no name of a parameter: use letters, digits, '_' and '.'",
                            name);
    struct gw_param param = {.name = strdup(name), .parent = GW_PARAM_NO_PARENT};
    if (!param.name)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    const int rc = read_value(space, &param, value, error);
    if (rc == 0)
        return gw_space_add_param(space, &param, error);
    gw_error_prefix(error, "parameter %s", name);
    gw_param_deinit(&param);
    return rc;
}

/* Rounds over the dict add what is possible, until a round adds nothing: a condition needs its
 * parameter first, and a dict has no order that says so. */
static int add_all(struct gw_space *space, const struct gw_value *values, bool *added,
                   struct gw_error *error)
{
    const size_t count = gw_value_count(values);
    for (size_t rest = count; rest > 0;) {
        const size_t before = rest;
        int rc = 0;
        for (size_t i = 0; i < count; i++) {
            if (added[i])
                continue;
            const int failed =
                add_value(space, gw_value_key(values, i), gw_value_at(values, i), error);
            if (failed < 0 && failed != GW_ENOENT)
                return failed;
            added[i] = failed == 0;
            rest -= added[i];
            rc = failed < 0 ? failed : rc;
        }
        if (rest == before)
            return rc;
    }
    return 0;
}

static void drop_after(struct gw_space *space, size_t count)
{
    while (space->params.count > count)
        gw_param_deinit(&space->params.items[--space->params.count]);
}

int gw_space_add_values(struct gw_space *space, const struct gw_value *values,
                        struct gw_error *error)
{
    if (!space || !values)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    if (gw_value_type(values) != GW_DICT || gw_value_count(values) == 0)
        return gw_error_set(error, GW_EINVAL,
                            "a space is a dict of parameters, for example {\"lr\": "
                            "\"log:1e-4..1e-1\", \"gpus\": [1, 4]}");
    const size_t before = space->params.count;
    bool *added = calloc(gw_value_count(values), sizeof *added);
    struct gw_error unused;
    if (!added)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    const int rc = add_all(space, values, added, error ? error : &unused);
    free(added);
    if (rc < 0)
        drop_after(space, before);
    return rc;
}
