/* Folders of tasks with files, on a simulated host. */
#ifndef GW_SIM_FOLDER_H
#define GW_SIM_FOLDER_H

#include "tests/sim/faults/crash.h"

enum { FOLDER_TEXT = 48 };
/* sim_folder_answer creates the folder of a FOLDER event, or fails with the reason in `text`. */
void sim_folder_answer(struct sim *sim, struct host *host, struct gw_event *event,
                       char text[static FOLDER_TEXT]);
void sim_folder_remove(struct sim *sim, struct host *host, uint64_t number);
/* sim_folder_retain makes the host count a folder that it keeps. sim_folder_count answers a COUNT
 * effect. sim_folder_counted checks after a COUNTED event that the kept folders do not exceed
 * SIM_RETAINED_BYTES. */
enum { SIM_RETAINED_BYTES = 1000 };
void sim_folder_retain(struct sim *sim, struct host *host, uint64_t number);
void sim_folder_count(struct host *host, struct gw_event *event);
void sim_folder_counted(struct sim *sim, const struct host *host);
uint64_t sim_folder_number(const char *path); /* returns 0 if path is not such a folder */
void sim_folder_told(struct process *process, const struct gw_msg_task_folder *message);
uint64_t sim_folder_take(struct process *process, uint64_t attempt);
/* sim_folder_check checks that the task that a process starts has its files. */
void sim_folder_check(struct sim *sim, const struct process *process);

#endif
