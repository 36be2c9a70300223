/* Data that jobs leave in a worker's folder (checkpoints, copies and output), and data of earlier
 * incarnations of a worker that connects to a scheduler on another host. All functions run on the
 * loop's thread. */
#ifndef GW_NET_ORPHANED_FILES_H
#define GW_NET_ORPHANED_FILES_H

#include "graph/wire/message.h"

struct gw_host;

/* gw_orphaned_files_open takes over the copies of earlier workers if no other worker uses the
 * folder. It removes data that belongs to no job. */
void gw_orphaned_files_open(struct gw_host *host);

/* gw_orphaned_files_on_welcome moves all data of other clusters than `cluster` (borrowed) to a
 * folder foreign-..., and logs this. It must be called before a task of this cluster runs. It
 * deletes nothing. */
void gw_orphaned_files_on_welcome(struct gw_host *host, const char *cluster);

/* gw_orphaned_files_tell asks the scheduler about all jobs with data in the folder. It must be
 * called after the registration. gw_orphaned_files_on_unknown removes the data of the jobs in the
 * scheduler's answer. */
void gw_orphaned_files_tell(struct gw_host *host);

/* gw_orphaned_files_tell_folder does the same for the folder of a separate user, and takes over the
 * copies of earlier workers there. */
void gw_orphaned_files_tell_folder(struct gw_host *host, const char *folder);
void gw_orphaned_files_on_unknown(struct gw_host *host,
                                  const struct gw_msg_orphaned_files *unknown);

/* gw_orphaned_files_on_forget removes the checkpoints of a job that will not run again, about a
 * second later on a thread. The job's output stays until the scheduler no longer knows the job.
 * gw_orphaned_files_close drops removals that have not started. It must be called after the loop
 * has ended. */
void gw_orphaned_files_on_forget(struct gw_host *host, uint64_t job);
void gw_orphaned_files_close(struct gw_host *host);

#endif
