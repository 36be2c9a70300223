/* Finds the folders that remain after a task has ended. */
#include "worker/net/tasks/left_folder.h"

#include "graph/base/files.h"
#include "worker/net/checkpoints/transfer_process.h"
#include "worker/store/checkpoint_path.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The folder is the one that the scheduler names, or the retained working folder of the task. */
int gw_left_folder_find(const struct gw_host *host, struct gw_msg_tunnel_open *open,
                        struct gw_error *error)
{
    uint64_t most = host->options.retained_bytes_max;
    const char *workdir =
        gw_node_core_retained_workdir(host->core, open->job, open->index, open->rank);
    if (!*open->cwd && workdir)
        open->cwd = workdir;
    if (*open->cwd)
        return 0;
    if (most < 2) /* `gangway up --keep-files 0` passes 1 */
        return gw_error_set(error, GW_ENOENT,
                            "task %u of job %llu has ended and its working folder was removed: "
                            "worker %s retains no folders (`gangway worker --keep-files`)",
                            open->index, (unsigned long long)open->job, host->options.name);
    return gw_error_set(
        error, GW_ENOENT,
        "task %u of job %llu has ended and its working folder was removed: worker %s retains the "
        "last %d folders of detached jobs, at most %.1f %s in total and at most as much as is free "
        "(`gangway worker --keep-files`), and none of killed tasks. Get files while the task runs, "
        "or make it write them to another folder",
        open->index, (unsigned long long)open->job, host->options.name, GW_RETAINED_WORKDIRS_MAX,
        (double)most / (most >> 30 ? 1 << 30 : 1 << 20), most >> 30 ? "GiB" : "MiB");
}

/* Returns 0 if a folder contains anything, GW_ENOENT if it is empty or missing, or GW_EIO. */
static int find_content(const char *path, struct gw_error *error)
{
    DIR *folder = gw_files_opendir(path);
    bool empty = true;
    if (!folder && errno != ENOENT)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    for (const struct dirent *entry; folder && empty && (entry = readdir(folder));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (folder)
        (void)closedir(folder);
    return empty ? GW_ENOENT : 0;
}

/* Uses the task's checkpoint folder or, if that is empty, the copy of another host's checkpoint. */
int gw_left_folder_checkpoint(const struct gw_host *host, struct gw_msg_tunnel_open *open,
                              char folder[static GW_LEFT_FOLDER_BYTES], struct gw_error *error)
{
    static const uint8_t no_words = 0x90;
    struct gw_transfer_place place;
    gw_transfer_process_place(host, open->user, &place);
    gw_checkpoint_path_folder(place.dir, open->job, open->index, folder, GW_LEFT_FOLDER_BYTES);
    int rc = find_content(folder, error);
    if (rc == GW_ENOENT) {
        gw_checkpoint_path_copy(place.dir, place.incarnation, open->job, open->index, folder,
                                GW_LEFT_FOLDER_BYTES);
        rc = find_content(folder, error);
    }
    if (rc < 0 && rc != GW_ENOENT)
        return rc;
    if (rc == GW_ENOENT)
        return gw_error_set(error, GW_ENOENT,
                            "task %u of job %llu has no checkpoint: its GANGWAY_CHECKPOINT_DIR on "
                            "worker %s is empty",
                            open->index, (unsigned long long)open->job, host->options.name);
    open->cwd = folder;
    if (open->argv.size == 1 && *(const uint8_t *)open->argv.data == no_words)
        return gw_error_set(error, GW_EEXIST, "it has a checkpoint");
    return 0;
}
