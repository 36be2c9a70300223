/* Environment and arguments of a companion (a process that runs beside a rank), as encoded lists.
 */
#ifndef GW_NET_COMPANION_H
#define GW_NET_COMPANION_H

#include "graph/wire/message.h"

#include <sys/types.h>

/* gw_companion_plain_environment appends a minimal environment that is enough to find programs. */
void gw_companion_plain_environment(struct gw_buffer *encoded);

/* gw_companion_arguments appends the arguments of the companion, with {pid} and {rank} replaced by
 * those of the rank. The companion takes over the environment and the folder of process `pid`,
 * unless it is 0. Returns GW_EINVAL if they contain no program. */
int gw_companion_arguments(const struct gw_msg_tunnel_open *open, pid_t pid,
                           struct gw_buffer *encoded, struct gw_error *error);

#endif
