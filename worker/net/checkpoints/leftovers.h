/* What jobs leave in the folder of a worker (checkpoints, copies of others', and output), and what
 * earlier lives left in that of a worker of another host's scheduler. All functions run on the
 * loop's thread. */
#ifndef GW_NET_LEFTOVERS_H
#define GW_NET_LEFTOVERS_H

#include "graph/wire/message.h"

struct gw_host;

/* gw_leftovers_open makes ours what may be of use: where nobody else lives in the folder, the
 * copies that its workers kept. What no job could be asked about goes. */
void gw_leftovers_open(struct gw_host *host);

/* gw_leftovers_on_welcome renames all that is of another cluster than this one (borrowed) to
 * foreign-... and logs that, before anything of this one runs here. Nothing of it is deleted. */
void gw_leftovers_on_welcome(struct gw_host *host, const char *cluster);

/* gw_leftovers_tell asks the scheduler about the jobs of which there is something; to be called
 * after the registration. gw_leftovers_on_unknown removes what is of the jobs in its answer. */
void gw_leftovers_tell(struct gw_host *host);
void gw_leftovers_on_unknown(struct gw_host *host, const struct gw_msg_leftovers *unknown);

/* gw_leftovers_on_forget removes the checkpoints of a job that will not run again, a second later
 * on a thread. Its output stays until the scheduler knows the job no more. gw_leftovers_close drops
 * what it still had to remove: for a host whose loop has run empty. */
void gw_leftovers_on_forget(struct gw_host *host, uint64_t job);
void gw_leftovers_close(struct gw_host *host);

#endif
