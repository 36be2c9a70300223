/* Folders that remain after a task has ended: its working folder and its checkpoint folder. A
 * process of a tunnel may start in one of them. */
#ifndef GW_NET_LEFT_FOLDER_H
#define GW_NET_LEFT_FOLDER_H

#include "worker/net/link/state.h"

#include <limits.h>

enum { GW_LEFT_FOLDER_BYTES = PATH_MAX + 64 };

/* gw_left_folder_find sets open->cwd to the working folder of a task that has ended. Returns
 * GW_ENOENT, with an explanation, if the folder does not exist any more. */
int gw_left_folder_find(const struct gw_host *host, struct gw_msg_tunnel_open *open,
                        struct gw_error *error);

/* gw_left_folder_checkpoint writes the path of the task's checkpoint folder to `folder`, and sets
 * open->cwd to `folder`. Returns GW_ENOENT if there is no checkpoint, GW_EEXIST if there is one and
 * the caller wants no process to be started, or GW_EIO. */
int gw_left_folder_checkpoint(const struct gw_host *host, struct gw_msg_tunnel_open *open,
                              char folder[static GW_LEFT_FOLDER_BYTES], struct gw_error *error);

#endif
