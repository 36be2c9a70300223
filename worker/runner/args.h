/* Arguments of a task: references in them replaced by the values they stand for. */
#ifndef GW_RUNNER_ARGS_H
#define GW_RUNNER_ARGS_H

#include <gangway/value.h>

/* gw_args_resolve gives a list like `args` (borrowed) in which reference k stands replaced by
 * deps[k] (borrowed; NULL: a dependency without data). What holds no reference is shared, not
 * copied. GW_EPROTO where a reference has no value; GW_ENOMEM. */
int gw_args_resolve(struct gw_value *args, struct gw_value *const *deps, size_t dep_count,
                    struct gw_value **resolved, struct gw_error *error);

/* gw_args_resolve_own does the same, and takes `args`, on failure too: a list that is the caller's
 * alone may be the one that it gives. */
int gw_args_resolve_own(struct gw_value *args, struct gw_value *const *deps, size_t dep_count,
                        struct gw_value **resolved, struct gw_error *error);

#endif
