/* Shuts a worker down. */
#ifndef GW_NET_SHUT_DOWN_H
#define GW_NET_SHUT_DOWN_H

#include "worker/net/link/state.h"

/* gw_shut_down ends all tasks and then closes everything, so that the loop ends.
 * gw_shut_down_by_signal does the same after a signal. It also tells the scheduler the reason, and
 * the worker stays until the scheduler has saved what only this host has. After a second signal the
 * worker does not wait. */
void gw_shut_down(struct gw_host *host);
void gw_shut_down_by_signal(struct gw_host *host, int signal);
/* gw_shut_down_heed starts the shutdown if a signal has arrived that the loop has not handled yet.
 * It must be called before the worker handles an event that the same signal may have caused, for
 * example the end of a task. */
void gw_shut_down_heed(struct gw_host *host);

#endif
