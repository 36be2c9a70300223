/* Ending a worker. */
#ifndef GW_NET_SHUT_DOWN_H
#define GW_NET_SHUT_DOWN_H

#include "worker/net/link/state.h"

/* gw_shut_down ends all work, then everything; the loop runs empty. gw_shut_down_by_signal does so
 * too, as it was told to by a signal, says so to the scheduler, and stays until that has seen to
 * what only this host has; told by a second signal, it stays for nothing. */
void gw_shut_down(struct gw_host *host);
void gw_shut_down_by_signal(struct gw_host *host, int signal);
/* gw_shut_down_heed ends it where a signal has come that the loop has not: for who is about to hear
 * of what may have had the same one. */
void gw_shut_down_heed(struct gw_host *host);

#endif
