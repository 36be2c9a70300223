/* The folders that a task leaves behind when it has ended: its own, and that of its checkpoints. A
 * process of a tunnel may begin in one of them. */
#ifndef GW_NET_LEFT_FOLDER_H
#define GW_NET_LEFT_FOLDER_H

#include "worker/net/link/state.h"

#include <limits.h>

enum { GW_LEFT_FOLDER_BYTES = PATH_MAX + 64 };

/* gw_left_folder_find sets open->cwd to the folder of a task that has ended. GW_ENOENT, with a text
 * that says why there is none. */
int gw_left_folder_find(const struct gw_host *host, struct gw_msg_tunnel_open *open,
                        struct gw_error *error);

/* gw_left_folder_checkpoint sets open->cwd to `folder`, in which it writes the path of the task's
 * checkpoints. GW_ENOENT: there are none; GW_EEXIST: there are some, and nothing is to be started;
 * GW_EIO. */
int gw_left_folder_checkpoint(const struct gw_host *host, struct gw_msg_tunnel_open *open,
                              char folder[static GW_LEFT_FOLDER_BYTES], struct gw_error *error);

#endif
