/* The functions of this program that can be tasks, as GW_TASK registered them. */
#ifndef GW_RUNNER_FUNCTION_H
#define GW_RUNNER_FUNCTION_H

#include <gangway/task.h>

/* gw_function_count and gw_function_at list them, in order of registration; borrowed for ever. */
size_t gw_function_count(void);
const struct gw_function *gw_function_at(size_t i);

#endif
