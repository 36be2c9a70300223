/* Selects the environment variables of this process that a submitted task inherits. */
#ifndef GW_MODEL_INHERITED_ENV_H
#define GW_MODEL_INHERITED_ENV_H

#include <stdbool.h>

/* gw_inherited_env_has returns true if a submitted task inherits the variable "NAME=value" of this
 * process. A task does not inherit variables that name devices or ranks of this process
 * (CUDA_VISIBLE_DEVICES, SLURM_*, RANK ...) or its user's token (GANGWAY_TOKEN,
 * GANGWAY_TOKEN_FILE). If this process is a task itself, variables that Gangway has set for it are
 * not inherited either. */
bool gw_inherited_env_has(const char *entry);

#endif
