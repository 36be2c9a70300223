/* What the options of a task may say together. */
#ifndef GW_MODEL_OPTIONS_H
#define GW_MODEL_OPTIONS_H

#include <gangway/graph.h>

/* gw_options_check: 0, or GW_EINVAL with a text that begins with `what` (the task's name) and names
 * the option by its name in C; GW_ENOMEM. */
int gw_options_check(const struct gw_task_options *options, const char *what,
                     struct gw_error *error);

/* gw_options_check_name: whether a job or a task (`of`: "job", "task") may be called so; NULL may
 * be. 0, or GW_EINVAL with a text that says what a name is. */
int gw_options_check_name(const char *name, const char *of, struct gw_error *error);

#endif
