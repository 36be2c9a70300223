/* Where checkpoints are, and processes of separate users that read and write them. */
#ifndef GW_NET_TRANSFER_PROCESS_H
#define GW_NET_TRANSFER_PROCESS_H

#include "worker/net/link/state.h"
#include "worker/store/transfer_files.h"

/* Default of the maximum size of a transfer in bytes. */
#define GW_TRANSFER_BYTES_DEFAULT (UINT64_C(8) << 30)

/* gw_transfer_process_place describes the checkpoints of the worker or, if `user` is not empty, of
 * the separate user who has this folder. */
void gw_transfer_process_place(const struct gw_host *host, const char *user,
                               struct gw_transfer_place *place);

/* gw_transfer_process_open starts a process of a separate user that serves one transfer
 * (worker/store/transfer_agent.h), and opens a link to it. Returns GW_EPERM if the user cannot run
 * anything here, or GW_EIO. gw_transfer_process_close closes the link, whose callbacks are not
 * called any more. */
int gw_transfer_process_open(const struct gw_host *host, const char *user,
                             const struct gw_link_callbacks *callbacks, struct gw_link **link,
                             struct gw_error *error);
void gw_transfer_process_close(struct gw_link *link);

/* gw_transfer_process_gone sets the error of a transfer whose process has ended or does not answer,
 * and returns GW_EIO. */
int gw_transfer_process_gone(struct gw_error *error);

#endif
