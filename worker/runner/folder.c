/* Enters and leaves the working folders of tasks with files.
 *
 * Invariant: between tasks, the process is in the directory in which it was started. A runner whose
 * actor has files stays in the actor's folder. */
#include "worker/runner/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int gw_folders_add(struct gw_folders *folders, const struct gw_msg_task_folder *message)
{
    struct gw_folder_ahead folder = {message->attempt, strdup(message->path)};
    if (folder.path && gw_array_push(&folders->ahead, folder) == 0)
        return 0;
    free(folder.path);
    return GW_ENOMEM;
}

int gw_folders_enter(struct gw_folders *folders, uint64_t attempt, int *back,
                     struct gw_error *error)
{
    *back = -1;
    for (size_t i = 0; i < folders->ahead.count; i++) {
        struct gw_folder_ahead folder = folders->ahead.items[i];
        int rc = 0;
        if (folder.attempt != attempt)
            continue;
        gw_array_remove_swap(&folders->ahead, i);
        *back = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (*back < 0 || chdir(folder.path) < 0)
            rc = gw_error_set(error, GW_EIO, "cannot change to the task's working folder %s: %s",
                              folder.path, strerror(errno));
        free(folder.path);
        return rc;
    }
    return 0;
}

void gw_folders_leave(int back, bool stay)
{
    if (back < 0)
        return;
    if (!stay && fchdir(back) < 0)
        exit(EXIT_FAILURE);
    close(back);
}
