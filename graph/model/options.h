/* Checks the options of a task for values and combinations that are not allowed. */
#ifndef GW_MODEL_OPTIONS_H
#define GW_MODEL_OPTIONS_H

#include <gangway/graph.h>

/* gw_options_check returns 0 or GW_EINVAL. The error text starts with `what` (the name of the task)
 * and names the option as in C. Returns GW_ENOMEM if out of memory. */
int gw_options_check(const struct gw_task_options *options, const char *what,
                     struct gw_error *error);

/* gw_options_check_name checks the name of a job or a task. `of` is "job" or "task". NULL is a
 * valid name. Returns 0, or GW_EINVAL with a text that says which names are allowed. */
int gw_options_check_name(const char *name, const char *of, struct gw_error *error);

#endif
