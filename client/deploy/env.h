/* Which variables of this process's environment go along with what it submits. */
#ifndef GW_CLIENT_ENV_H
#define GW_CLIENT_ENV_H

#include <stdbool.h>

/* gw_env_goes_along tells whether "NAME=value" of this process's own environment does. Not what
 * names devices or ranks of this process (CUDA_VISIBLE_DEVICES, SLURM_*, RANK ...), nor its user's
 * token (GANGWAY_TOKEN, GANGWAY_TOKEN_FILE), and, inside a task, nothing that Gangway gave to it.
 */
bool gw_env_goes_along(const char *entry);

#endif
