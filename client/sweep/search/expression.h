/* Expressions of derived parameters and constraints: + - * / ( ), numbers, names of parameters, and
 * in a constraint one comparison. */
#ifndef GW_SEARCH_EXPRESSION_H
#define GW_SEARCH_EXPRESSION_H

#include "client/sweep/search/space.h"

/* gw_expression_check returns GW_EINVAL if the text is malformed or uses an unknown parameter. */
int gw_expression_check(const struct gw_space *space, const char *text, bool constraint,
                        struct gw_error *error);

/* gw_expression_derive computes the derived parameters of a point, each once. */
struct gw_derived_numbers {
    double items[GW_SPACE_PARAMS_MAX]; /* NaN: the point lacks it, or it does not exist (0/0) */
    bool lacks[GW_SPACE_PARAMS_MAX];
};
void gw_expression_derive(struct gw_derived_numbers *derived, const struct gw_space *space,
                          const double *point);

/* gw_expression_is_met returns whether a point meets a constraint, a text that was checked. A point
 * that lacks a parameter of it does; if a number does not exist, no point does. */
bool gw_expression_is_met(const struct gw_space *space, const double *point,
                          const struct gw_derived_numbers *derived, const char *text);

#endif
