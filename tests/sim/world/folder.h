/* Folders of tasks with files, on a host of the simulator. */
#ifndef GW_SIM_FOLDER_H
#define GW_SIM_FOLDER_H

#include "tests/sim/faults/crash.h"

enum { FOLDER_TEXT = 48 };
/* sim_folder_answer makes the folder that an event tells of, or says why not, in `text`. */
void sim_folder_answer(struct sim *sim, struct host *host, struct gw_event *event,
                       char text[static FOLDER_TEXT]);
void sim_folder_remove(struct sim *sim, struct host *host, uint64_t number);
/* sim_folder_keep: it is to be counted; sim_folder_count says how much is in it. What a host keeps
 * is held against SIM_KEPT_BYTES after each step in which it heard of bytes. */
enum { SIM_KEPT_BYTES = 1000 };
void sim_folder_keep(struct sim *sim, struct host *host, uint64_t number);
void sim_folder_count(struct host *host, struct gw_event *event);
void sim_folder_counted(struct sim *sim, const struct host *host);
uint64_t sim_folder_number(const char *path); /* 0: it is none of these */
void sim_folder_told(struct process *process, const struct gw_msg_task_folder *message);
uint64_t sim_folder_take(struct process *process, uint64_t attempt);
/* sim_folder_check: what a process begins with has its files. */
void sim_folder_check(struct sim *sim, const struct process *process);

#endif
