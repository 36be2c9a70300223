/* The folders in which tasks with files run, as the worker tells of them ahead of the tasks. */
#ifndef GW_RUNNER_FOLDER_H
#define GW_RUNNER_FOLDER_H

#include "graph/base/array.h"
#include "graph/wire/message.h"

struct gw_folders {
    GW_ARRAY(struct gw_folder_ahead {
        uint64_t attempt;
        char *path; /* owned */
    })
    ahead; /* of tasks that have not begun */
};

/* gw_folders_add keeps what was told (copied) until its task begins; 0 or GW_ENOMEM. */
int gw_folders_add(struct gw_folders *folders, const struct gw_msg_task_folder *message);

/* gw_folders_enter makes the folder of this attempt the working directory, where it has one, and
 * gives a descriptor of the one before in *back (else -1). GW_EIO with text: it is not there. */
int gw_folders_enter(struct gw_folders *folders, uint64_t attempt, int *back,
                     struct gw_error *error);

/* gw_folders_leave goes back (taken; -1: nothing is to be done), or, with stay, gives up the way
 * back. Ends the process where it cannot: the next task would run in a folder that goes. */
void gw_folders_leave(int back, bool stay);

#endif
