/* Paths of checkpoints, and the names of their workers. */
#include "worker/net/checkpoints/checkpoint_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void gw_checkpoint_path_marker(const struct gw_host *host, char *name, size_t bytes)
{
    (void)snprintf(name, bytes, ".worker-%016" PRIx64, host->incarnation);
}

void gw_checkpoint_path_here(const struct gw_host *host, char *text, size_t bytes)
{
    char machine[256] = "";
    (void)gethostname(machine, sizeof machine - 1);
    const bool same = strcmp(machine, host->options.name) == 0;
    (void)snprintf(text, bytes, "%s%s%s", host->options.name, same ? "" : " on ",
                   same ? "" : machine);
}

void gw_checkpoint_path_folder(const struct gw_host *host, uint64_t job, uint32_t index, char *path,
                               size_t bytes)
{
    (void)snprintf(path, bytes, "%s/%" PRIu64 "/%" PRIu32, host->checkpoint_dir, job, index);
}

void gw_checkpoint_path_copy(const struct gw_host *host, uint64_t job, uint32_t index, char *path,
                             size_t bytes)
{
    int length =
        snprintf(path, bytes, "%s/.copies/%016" PRIx64, host->checkpoint_dir, host->incarnation);
    if (job && length > 0 && (size_t)length < bytes)
        (void)snprintf(path + length, bytes - (size_t)length, "/%" PRIu64 ".%" PRIu32, job, index);
}
