/* Arguments of a task: replaces references by the values of the dependencies. */
#ifndef GW_RUNNER_ARGS_H
#define GW_RUNNER_ARGS_H

#include <gangway/value.h>

/* gw_args_resolve returns a list like `args` (borrowed) in which reference k is replaced by deps[k]
 * (borrowed; NULL: a dependency without data). Values without references are shared and not copied.
 * Returns GW_EPROTO if a reference has no value, or GW_ENOMEM. */
int gw_args_resolve(struct gw_value *args, struct gw_value *const *deps, size_t dep_count,
                    struct gw_value **resolved, struct gw_error *error);

/* gw_args_resolve_own does the same and takes ownership of `args`, even if it fails. If the caller
 * had the only reference to the list, the list itself may be changed and returned. */
int gw_args_resolve_own(struct gw_value *args, struct gw_value *const *deps, size_t dep_count,
                        struct gw_value **resolved, struct gw_error *error);

#endif
