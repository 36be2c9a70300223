/* A space: parameters, derived parameters, constraints, first points. */
#ifndef GW_SEARCH_SPACE_H
#define GW_SEARCH_SPACE_H

#include <gangway/search.h>

#include "client/sweep/search/param.h"

struct gw_derived {
    char *name, *expression;
};

struct gw_space {
    GW_ARRAY(struct gw_param) params;
    GW_ARRAY(struct gw_derived) derived;
    GW_ARRAY(char *) constraints;
    GW_ARRAY(double *) first; /* points; NaN: the method chooses */
};

/* gw_space_name_length returns the length of the name at the beginning of a text, 0 if none. */
size_t gw_space_name_length(const char *text);

/* gw_space_find returns the index of a parameter, gw_space_find_derived of a derived one, or -1.
 * The name is not terminated. */
int32_t gw_space_find(const struct gw_space *space, const char *name, size_t length);
int32_t gw_space_find_derived(const struct gw_space *space, const char *name, size_t length);

/* gw_space_admit returns an error if the space cannot take another parameter of this name. */
int gw_space_admit(const struct gw_space *space, const char *name, struct gw_error *error);

/* gw_space_add_param checks a parameter and takes it over, also if it fails. The error's text
 * begins with the name. */
int gw_space_add_param(struct gw_space *space, struct gw_param *param, struct gw_error *error);

/* gw_space_condition makes the parameter depend on another one: it exists if OTHER has the value.
 */
int gw_space_condition(const struct gw_space *space, struct gw_param *param, const char *other,
                       size_t length, const struct gw_value *value, struct gw_error *error);

/* gw_space_text_read reads what stands after the = of a parameter that has its name. */
int gw_space_text_read(const struct gw_space *space, struct gw_param *param, const char *text,
                       struct gw_error *error);

/* gw_space_has returns whether a point has a parameter. The point's earlier parameters are set. */
bool gw_space_has(const struct gw_space *space, const double *point, size_t i);

#endif
