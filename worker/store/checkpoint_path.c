/* Paths of checkpoints. */
#include "worker/store/checkpoint_path.h"

#include <inttypes.h>
#include <stdio.h>

void gw_checkpoint_path_marker(uint64_t incarnation, char *name, size_t bytes)
{
    (void)snprintf(name, bytes, ".worker-%016" PRIx64, incarnation);
}

void gw_checkpoint_path_folder(const char *dir, uint64_t job, uint32_t index, char *path,
                               size_t bytes)
{
    (void)snprintf(path, bytes, "%s/%" PRIu64 "/%" PRIu32, dir, job, index);
}

void gw_checkpoint_path_copy(const char *dir, uint64_t incarnation, uint64_t job, uint32_t index,
                             char *path, size_t bytes)
{
    int length = snprintf(path, bytes, "%s/.copies/%016" PRIx64, dir, incarnation);
    if (job && length > 0 && (size_t)length < bytes)
        (void)snprintf(path + length, bytes - (size_t)length, "/%" PRIu64 ".%" PRIu32, job, index);
}
