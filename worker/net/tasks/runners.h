/* Work of the driver when processes start and end: sockets, capture files and shared pages. */
#ifndef GW_NET_RUNNERS_H
#define GW_NET_RUNNERS_H

#include "worker/net/link/state.h"

/* gw_runners_spawn sends a spawn message to the supervisor. It creates the socket of a runner, or
 * the standard input of a command, before. */
void gw_runners_spawn(struct gw_host *host, const struct gw_effect *effect);
/* gw_host_on_supervisor_message returns the message for the core: `message` itself, or a completed
 * copy in `filled`. */
const struct gw_message *gw_host_on_supervisor_message(struct gw_host *host,
                                                       const struct gw_message *message,
                                                       struct gw_message *filled);
/* gw_host_on_actor_ready maps the page in which a runner notes the call that it has begun. It takes
 * over the descriptors. */
void gw_host_on_actor_ready(struct gw_host *host, uint64_t process, const int *fds,
                            uint8_t fd_count);

void gw_runners_free(struct gw_host_runner *runner);
void gw_host_on_runner_closed(struct gw_host *host, uint64_t process);
/* gw_runners_output_bytes returns how much the task that a process executes has written to both
 * streams. UINT64_MAX: it may be waiting for its reader. */
uint64_t gw_runners_output_bytes(const struct gw_host *host, uint64_t process);
void gw_runners_tidy(struct gw_host *host, uint64_t process);

#endif
