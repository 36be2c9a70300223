/* The task functions of this program, which GW_TASK has registered. */
#ifndef GW_RUNNER_FUNCTION_H
#define GW_RUNNER_FUNCTION_H

#include <gangway/task.h>

/* gw_function_count and gw_function_at list the functions in order of registration. They stay valid
 * for ever. */
size_t gw_function_count(void);
const struct gw_function *gw_function_at(size_t i);

#endif
