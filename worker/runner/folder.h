/* Working folders of tasks with files. The worker sends the path of a folder before the task. */
#ifndef GW_RUNNER_FOLDER_H
#define GW_RUNNER_FOLDER_H

#include "graph/base/array.h"
#include "graph/wire/message.h"

struct gw_folders {
    GW_ARRAY(struct gw_folder_ahead {
        uint64_t attempt;
        char *path; /* owned */
    })
    ahead; /* folders of tasks that have not begun */
};

/* gw_folders_add stores the folder of a message (copied) until its task begins. Returns 0 or
 * GW_ENOMEM. */
int gw_folders_add(struct gw_folders *folders, const struct gw_msg_task_folder *message);

/* gw_folders_enter makes the folder of this attempt the working directory, if it has one. *back is
 * then a descriptor of the previous directory, otherwise -1. Returns GW_EIO and sets the error if
 * the folder does not exist. */
int gw_folders_enter(struct gw_folders *folders, uint64_t attempt, int *back,
                     struct gw_error *error);

/* gw_folders_leave returns to the directory `back` and closes it. -1: does nothing. If `stay` is
 * true, it only closes the descriptor. If the return fails, it ends the process: the next task
 * would run in a folder that is being removed. */
void gw_folders_leave(int back, bool stay);

#endif
