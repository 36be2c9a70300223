/* Paths of the checkpoints that a worker has, and of the copies that it keeps for others. */
#ifndef GW_STORE_CHECKPOINT_PATH_H
#define GW_STORE_CHECKPOINT_PATH_H

#include <stddef.h>
#include <stdint.h>

/* gw_checkpoint_path_marker writes the name of a worker's marker file, by the worker's incarnation.
 * Another worker that finds this file in its own folder shares the folder with that one. */
void gw_checkpoint_path_marker(uint64_t incarnation, char *name, size_t bytes);

/* gw_checkpoint_path_folder writes the path of a task's checkpoint folder. `dir` is the folder of
 * all checkpoints of a worker or, if users are separate, of a user. */
void gw_checkpoint_path_folder(const char *dir, uint64_t job, uint32_t index, char *path,
                               size_t bytes);

/* gw_checkpoint_path_copy writes the path of the copy that a worker keeps for a task. If `job` is
 * 0, it is the folder of all its copies. */
void gw_checkpoint_path_copy(const char *dir, uint64_t incarnation, uint64_t job, uint32_t index,
                             char *path, size_t bytes);

#endif
