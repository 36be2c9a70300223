/* Processes whose output is held back for its reader: how far the reader is, as the supervisor was
 * told last. */
#ifndef GW_NET_HELD_H
#define GW_NET_HELD_H

#include "graph/wire/message.h"

struct gw_host;

/* gw_held_begin is for a process that is being started; gw_held_end for one that is over, and is
 * well for any other. */
void gw_held_begin(struct gw_host *host, uint64_t process);
void gw_held_end(struct gw_host *host, uint64_t process);

/* gw_held_on_read tells the supervisor, now and then, that the reader of stream (1 out, 2 err) has
 * all before offset; UINT64_MAX: it wants no more. host: a struct gw_host. */
void gw_held_on_read(uint64_t process, uint32_t stream, uint64_t offset, void *host);

/* gw_held_waits tells whether a process may be waiting for its reader: bytes is what a stream of it
 * has written. */
bool gw_held_waits(const struct gw_host *host, uint64_t process, uint32_t stream, uint64_t bytes);

#endif
