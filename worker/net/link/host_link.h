/* Connections of all roles. */
#ifndef GW_NET_HOST_LINK_H
#define GW_NET_HOST_LINK_H

#include "worker/net/link/state.h"

/* -- peers.c: connections of all roles */
struct gw_host_link *gw_host_link_new(struct gw_host *host, int fd, uint32_t role);
/* gw_host_link_greet takes a connection to us, which has not said yet who it is. */
void gw_host_link_greet(struct gw_host *host, int fd, struct gw_transport *transport);

struct gw_host_link *gw_host_link_find(const struct gw_host *host, uint64_t id);
/* gw_host_link_connect_scheduler opens a link to the scheduler, by TLS where it is on another host:
 * 0 or the code of connecting; *link is NULL where there is none. gw_host_link_say_hello sends
 * hello as a worker, or as a peer. */
int gw_host_link_connect_scheduler(struct gw_host *host, struct gw_host_link **link);
void gw_host_link_say_hello(struct gw_host_link *link, uint32_t role);
/* gw_host_link_take_over has a connection go on by the link of another, which is no more; the old
 * link, where it is not broken, is closed, and what it still brings is dropped. */
void gw_host_link_take_over(struct gw_host_link *link, struct gw_host_link *other, bool broken);
/* gw_host_link_say_absent has the log say, now and then, why no scheduler answers. */
void gw_host_link_say_absent(struct gw_host *host, const struct gw_error *error);
/* gw_host_link_connect_task gives a connection to the scheduler (the caller's) on which hello was
 * said for a rank of an attempt. GW_EAGAIN where the scheduler has no room for it at the moment,
 * GW_EIO.
 */
int gw_host_link_connect_task(struct gw_host *host, uint64_t attempt, uint32_t rank, int *fd,
                              struct gw_error *error);
void gw_host_link_connect_peer(struct gw_host *host, uint32_t worker, const char *address);
/* gw_host_link_dial_peer opens a connection to another worker for a checkpoint transfer; NULL, with
 * a text. */
struct gw_host_link *gw_host_link_dial_peer(struct gw_host *host, uint32_t worker,
                                            const char *address, struct gw_error *error);

#endif
