/* What is to be done around the core when processes come and go. */
#ifndef GW_NET_RUNNERS_H
#define GW_NET_RUNNERS_H

#include "worker/net/link/state.h"

/* -- runners.c: what is to be done around the core when processes come and go */
void gw_runners_spawn(struct gw_host *host, const struct gw_effect *effect);
/* gw_host_on_supervisor_message gives the message for the core: itself, or `filled`. */
const struct gw_message *gw_host_on_supervisor_message(struct gw_host *host,
                                                       const struct gw_message *message,
                                                       struct gw_message *filled);
/* gw_host_on_actor_ready takes the page of a runner (fds: taken). */
void gw_host_on_actor_ready(struct gw_host *host, uint64_t process, const int *fds,
                            uint8_t fd_count);

void gw_runners_free(struct gw_host_runner *runner);
void gw_host_on_runner_closed(struct gw_host *host, uint64_t process);
/* gw_runners_output_bytes is how much what a process executes has written, both streams;
 * UINT64_MAX: it may be waiting for its reader. */
uint64_t gw_runners_output_bytes(const struct gw_host *host, uint64_t process);
void gw_runners_tidy(struct gw_host *host, uint64_t process);

#endif
