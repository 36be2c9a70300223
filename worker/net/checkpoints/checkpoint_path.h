/* Where this worker has checkpoints, and copies of those of others. */
#ifndef GW_NET_CHECKPOINT_PATH_H
#define GW_NET_CHECKPOINT_PATH_H

#include "worker/net/link/state.h"

/* gw_checkpoint_path_marker names the file by which others see that they have the same folder. */
void gw_checkpoint_path_marker(const struct gw_host *host, char *name, size_t bytes);

/* gw_checkpoint_path_here writes which worker this is, on which host, for people. */
void gw_checkpoint_path_here(const struct gw_host *host, char *text, size_t bytes);

/* gw_checkpoint_path_folder writes where this worker has the folder of a job's task. */
void gw_checkpoint_path_folder(const struct gw_host *host, uint64_t job, uint32_t index, char *path,
                               size_t bytes);

/* gw_checkpoint_path_copy writes where this worker keeps the copy of a job's task; of the folder of
 * all its copies where job is 0. */
void gw_checkpoint_path_copy(const struct gw_host *host, uint64_t job, uint32_t index, char *path,
                             size_t bytes);

#endif
