/* Orphaned files in workers' folders; see orphaned_files.c. */
#ifndef GW_TESTS_SIM_ORPHANED_FILES_H
#define GW_TESTS_SIM_ORPHANED_FILES_H

#include "tests/sim/sim.h"

/* sim_orphaned_files_tell: a host has received a message; it answers a welcome.
 * sim_orphaned_files_take: it receives the jobs whose files it may remove. */
void sim_orphaned_files_tell(struct sim *sim, struct host *host, const struct gw_message *message);
void sim_orphaned_files_take(struct sim *sim, const struct host *host,
                             const struct gw_msg_orphaned_files *unknown);

#endif
