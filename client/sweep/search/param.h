/* One parameter of a space. Its value is a double: an index for a choice, otherwise the number. */
#ifndef GW_SEARCH_PARAM_H
#define GW_SEARCH_PARAM_H

#include <gangway/error.h>
#include <gangway/value.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/array.h"

enum gw_param_kind { GW_PARAM_CHOICE, GW_PARAM_FLOAT, GW_PARAM_INT };

enum { GW_PARAM_NO_PARENT = -1 };

struct gw_param {
    char *name;
    enum gw_param_kind kind;
    bool log;
    double low, high;
    double step; /* of a float 0 if it is continuous; of an int 1 or more */
    GW_ARRAY(struct gw_value *) choices;
    int32_t parent;                 /* index of the parameter on which this one depends */
    GW_ARRAY(double) parent_values; /* values of the parent with which this one exists */
};

void gw_param_deinit(struct gw_param *param);

/* gw_param_check completes a parameter that was just read: it cuts `high` to the last step. Returns
 * GW_EINVAL with what to type if the range is empty or too large. */
int gw_param_check(struct gw_param *param, struct gw_error *error);

/* gw_param_cells returns how many values a parameter has, 0 if it is continuous.
 * gw_param_cell returns value i of them. */
uint64_t gw_param_cells(const struct gw_param *param);
double gw_param_cell(const struct gw_param *param, uint64_t i);

/* gw_param_at_unit returns the value at u, from 0 up to 1, in the parameter's distribution. */
double gw_param_at_unit(const struct gw_param *param, double u);

/* gw_param_round returns the value of the parameter that is nearest to x. */
double gw_param_round(const struct gw_param *param, double x);

/* gw_param_find returns the number that stands for a value, or NaN if the parameter cannot have it.
 * gw_param_value returns a new value for a number. */
double gw_param_find(const struct gw_param *param, const struct gw_value *value);
struct gw_value *gw_param_value(const struct gw_param *param, double x);

/* gw_param_number returns x, or of a choice the number that is chosen; NaN if that is no number. */
double gw_param_number(const struct gw_param *param, double x);

/* gw_param_has_parent_value returns whether the parameter exists if its parent has this value. */
bool gw_param_has_parent_value(const struct gw_param *param, double value);

#endif
