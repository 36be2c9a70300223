/* One parameter: its range, its values, and the numbers that stand for them. */
#include "client/sweep/search/param.h"

#include <math.h>
#include <stdlib.h>

/* Whole numbers up to this one are exact in a double. */
#define WHOLE_MAX 9007199254740992.0

void gw_param_deinit(struct gw_param *param)
{
    struct gw_value **choice;
    GW_ARRAY_EACH (&param->choices, choice)
        gw_value_unref(*choice);
    gw_array_deinit(&param->choices);
    gw_array_deinit(&param->parent_values);
    free(param->name);
    param->name = NULL;
}

static int check_choices(const struct gw_param *param, struct gw_error *error)
{
    if (param->choices.count == 0)
        return gw_error_set(error, GW_EINVAL, "the choice is empty: write %s=1,4 or %s=adam|sgd",
                            param->name, param->name);
    for (size_t i = 0; i < param->choices.count; i++)
        for (size_t k = 0; k < i; k++)
            if (gw_value_equal(param->choices.items[i], param->choices.items[k])) {
                char text[80];
                gw_value_format(param->choices.items[i], text, sizeof text);
                return gw_error_set(error, GW_EINVAL, "the choice has %s twice: remove one", text);
            }
    return 0;
}

int gw_param_check(struct gw_param *param, struct gw_error *error)
{
    if (param->kind == GW_PARAM_CHOICE)
        return check_choices(param, error);
    if (!isfinite(param->low) || !isfinite(param->high) || !isfinite(param->step) ||
        !isfinite(param->high - param->low))
        return gw_error_set(error, GW_EINVAL, "the ends and the step must be finite numbers");
    if (param->low > param->high)
        return gw_error_set(error, GW_EINVAL, "the range is empty: write %s=%s%g..%g", param->name,
                            param->kind == GW_PARAM_INT ? "int:" : "", param->high, param->low);
    if (param->log && param->low <= 0)
        return gw_error_set(error, GW_EINVAL,
                            "a logarithmic range needs a lower end above 0, for example 1e-4..1");
    if (param->log && param->step != (param->kind == GW_PARAM_INT))
        return gw_error_set(error, GW_EINVAL,
                            "a logarithmic range has no step: leave out the step or the log");
    if (param->step < 0)
        return gw_error_set(error, GW_EINVAL, "the step must be above 0");
    if (param->kind == GW_PARAM_INT &&
        (fabs(param->low) > WHOLE_MAX || floor(param->low) != param->low ||
         fabs(param->high) > WHOLE_MAX || floor(param->high) != param->high || param->step < 1 ||
         floor(param->step) != param->step))
        return gw_error_set(error, GW_EINVAL,
                            "the ends and the step of int must be whole numbers up to 2^53");
    if (param->step > 0 && (param->high - param->low) / param->step >= WHOLE_MAX)
        return gw_error_set(error, GW_EINVAL, "the step is too small for the range");
    if (param->step > 0)
        param->high = gw_param_cell(param, gw_param_cells(param) - 1);
    return 0;
}

uint64_t gw_param_cells(const struct gw_param *param)
{
    if (param->kind == GW_PARAM_CHOICE)
        return param->choices.count;
    if (param->low == param->high)
        return 1;
    if (param->step == 0)
        return 0;
    /* 0..1:0.1 has eleven values, although 1 / 0.1 need not be 10. */
    return (uint64_t)floor((param->high - param->low) / param->step * (1 + 1e-12)) + 1;
}

double gw_param_cell(const struct gw_param *param, uint64_t i)
{
    return param->kind == GW_PARAM_CHOICE ? (double)i : param->low + (double)i * param->step;
}

double gw_param_at_unit(const struct gw_param *param, double u)
{
    const uint64_t cells = gw_param_cells(param);
    if (param->log && cells != 1) {
        const double widen = param->kind == GW_PARAM_INT ? .5 : 0;
        const double low = log(param->low - widen), high = log(param->high + widen);
        return gw_param_round(param, exp(low + u * (high - low)));
    }
    if (cells == 0)
        return gw_param_round(param, param->low + u * (param->high - param->low));
    const uint64_t i = (uint64_t)(u * (double)cells);
    return gw_param_cell(param, i < cells ? i : cells - 1);
}

double gw_param_round(const struct gw_param *param, double x)
{
    if (param->kind == GW_PARAM_CHOICE)
        x = fmin(fmax(round(x), 0), (double)param->choices.count - 1);
    else if (param->step > 0)
        x = param->low + round((x - param->low) / param->step) * param->step;
    return param->kind == GW_PARAM_CHOICE ? x : fmin(fmax(x, param->low), param->high);
}

double gw_param_find(const struct gw_param *param, const struct gw_value *value)
{
    double x;
    if (param->kind == GW_PARAM_CHOICE) {
        for (size_t i = 0; i < param->choices.count; i++) {
            const struct gw_value *choice = param->choices.items[i];
            double chosen;
            if (gw_value_equal(choice, value) ||
                (gw_value_get_f64(choice, &chosen, NULL) == 0 &&
                 gw_value_get_f64(value, &x, NULL) == 0 && x == chosen))
                return (double)i;
        }
        return NAN;
    }
    if (gw_value_get_f64(value, &x, NULL) < 0 || !(x >= param->low && x <= param->high))
        return NAN;
    const double nearest = gw_param_round(param, x);
    return fabs(nearest - x) <= 1e-9 * param->step || nearest == x ? nearest : NAN;
}

struct gw_value *gw_param_value(const struct gw_param *param, double x)
{
    switch (param->kind) {
    case GW_PARAM_CHOICE:
        return gw_value_ref(param->choices.items[(size_t)x]);
    case GW_PARAM_INT:
        return gw_i64((int64_t)x);
    case GW_PARAM_FLOAT:
        break;
    }
    return gw_f64(x);
}

double gw_param_number(const struct gw_param *param, double x)
{
    if (param->kind != GW_PARAM_CHOICE)
        return x;
    double chosen;
    return gw_value_get_f64(param->choices.items[(size_t)x], &chosen, NULL) == 0 ? chosen : NAN;
}

bool gw_param_has_parent_value(const struct gw_param *param, double value)
{
    for (size_t i = 0; i < param->parent_values.count; i++)
        if (param->parent_values.items[i] == value)
            return true;
    return false;
}
