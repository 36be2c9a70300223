/* Paths of the checkpoints that this worker has, and of the copies that it keeps for others. */
#ifndef GW_NET_CHECKPOINT_PATH_H
#define GW_NET_CHECKPOINT_PATH_H

#include "worker/net/link/state.h"

/* gw_checkpoint_path_marker writes the name of this worker's marker file. Another worker that finds
 * this file in its own folder shares the folder with this one. */
void gw_checkpoint_path_marker(const struct gw_host *host, char *name, size_t bytes);

/* gw_checkpoint_path_here writes the name of this worker and its host, for users. */
void gw_checkpoint_path_here(const struct gw_host *host, char *text, size_t bytes);

/* gw_checkpoint_path_folder writes the path of a task's checkpoint folder. */
void gw_checkpoint_path_folder(const struct gw_host *host, uint64_t job, uint32_t index, char *path,
                               size_t bytes);

/* gw_checkpoint_path_copy writes the path of the copy that this worker keeps for a task. If `job`
 * is 0, it is the folder of all its copies. */
void gw_checkpoint_path_copy(const struct gw_host *host, uint64_t job, uint32_t index, char *path,
                             size_t bytes);

#endif
