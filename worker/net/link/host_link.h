/* Connections of this worker: to the scheduler, the supervisor, runners and other workers. */
#ifndef GW_NET_HOST_LINK_H
#define GW_NET_HOST_LINK_H

#include "worker/net/link/state.h"

/* gw_host_link_new creates a connection of the given role on a socket. */
struct gw_host_link *gw_host_link_new(struct gw_host *host, int fd, uint32_t role);
/* gw_host_link_greet accepts an incoming connection whose peer is not known yet. The peer must send
 * hello within a time limit. */
void gw_host_link_greet(struct gw_host *host, int fd, struct gw_transport *transport);

struct gw_host_link *gw_host_link_find(const struct gw_host *host, uint64_t id);
/* gw_host_link_connect_scheduler opens a connection to the scheduler, by TLS if it is on another
 * host. Returns 0 or the error code of connecting. *link is NULL if it failed.
 * gw_host_link_say_hello sends a hello message with role worker or peer. */
int gw_host_link_connect_scheduler(struct gw_host *host, struct gw_host_link **link);
void gw_host_link_say_hello(struct gw_host_link *link, uint32_t role);
/* gw_host_link_take_over moves `link` to the socket of `other` and frees `other`. If the old socket
 * is not broken, it is closed, and messages that still arrive on it are dropped. */
void gw_host_link_take_over(struct gw_host_link *link, struct gw_host_link *other, bool broken);
/* gw_host_link_say_absent logs why the scheduler does not answer. It limits how often the same text
 * is logged. */
void gw_host_link_say_absent(struct gw_host *host, const struct gw_error *error);
/* gw_host_link_connect_task opens a connection to the scheduler on which hello has been sent for a
 * rank of an attempt. The caller owns the descriptor. Returns GW_EAGAIN if the scheduler accepts no
 * more connections at the moment, otherwise GW_EIO. */
int gw_host_link_connect_task(struct gw_host *host, uint64_t attempt, uint32_t rank, int *fd,
                              struct gw_error *error);
void gw_host_link_connect_peer(struct gw_host *host, uint32_t worker, const char *address);
/* gw_host_link_dial_peer opens a connection to another worker for a checkpoint transfer. Returns
 * NULL and sets the error if it fails. */
struct gw_host_link *gw_host_link_dial_peer(struct gw_host *host, uint32_t worker,
                                            const char *address, struct gw_error *error);

#endif
