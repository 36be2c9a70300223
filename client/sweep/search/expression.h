/* Expressions of derived parameters and constraints: + - * / ( ), numbers, names of parameters, and
 * in a constraint one comparison. */
#ifndef GW_SEARCH_EXPRESSION_H
#define GW_SEARCH_EXPRESSION_H

#include "client/sweep/search/space.h"

/* gw_expression_check returns GW_EINVAL if the text is malformed or uses an unknown parameter. */
int gw_expression_check(const struct gw_space *space, const char *text, bool constraint,
                        struct gw_error *error);

/* gw_expression_compute returns the number; of a constraint 1 if it is met, else 0. NaN: the point
 * lacks a parameter, or the number does not exist (0/0). The text was checked. */
double gw_expression_compute(const struct gw_space *space, const double *point, const char *text);

#endif
