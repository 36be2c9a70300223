/* Processes that are stopped while the reader of their output is behind. The worker tells the
 * supervisor how far the reader has read. */
#ifndef GW_NET_HELD_H
#define GW_NET_HELD_H

#include "graph/wire/message.h"

struct gw_host;

/* gw_held_begin must be called for such a process when it is started. gw_held_end must be called
 * when any process has ended. */
void gw_held_begin(struct gw_host *host, uint64_t process);
void gw_held_end(struct gw_host *host, uint64_t process);

/* gw_held_on_read records that the reader of stream (1: stdout, 2: stderr) has read all bytes
 * before offset, and sometimes tells the supervisor. UINT64_MAX: the reader wants no more. `host`
 * is a struct gw_host. */
void gw_held_on_read(uint64_t process, uint32_t stream, uint64_t offset, void *host);

/* gw_held_waits returns true if a process may be waiting for its reader. bytes is the number of
 * bytes that it has written to the stream. */
bool gw_held_waits(const struct gw_host *host, uint64_t process, uint32_t stream, uint64_t bytes);

#endif
