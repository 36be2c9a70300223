/* What a companion is started with: its environment and its arguments, as encoded lists. */
#ifndef GW_NET_COMPANION_H
#define GW_NET_COMPANION_H

#include "graph/wire/message.h"

#include <sys/types.h>

/* gw_companion_environment appends the environment of the rank's process. GW_ENOENT: that process
 * has ended. It may wait for some milliseconds. */
int gw_companion_environment(pid_t pid, struct gw_buffer *encoded, struct gw_error *error);

/* gw_companion_plain_environment appends an environment that is enough to find programs. */
void gw_companion_plain_environment(struct gw_buffer *encoded);

/* gw_companion_arguments appends the words of the command, with the numbers of the process and of
 * the rank for {pid} and {rank}. GW_EINVAL: there is no program in it. */
int gw_companion_arguments(const struct gw_msg_tunnel_open *open, pid_t pid,
                           struct gw_buffer *encoded, struct gw_error *error);

#endif
