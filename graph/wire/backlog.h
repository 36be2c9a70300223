/* Backlogs: what one side of a connection has sent and the other may not have taken, so that a
 * connection that breaks is mended by another and neither side's user notices.
 *
 * Messages are counted from 1 as they are sent, and by whoever takes them; heartbeats are neither
 * counted nor kept. What the other side says that it took is forgotten; beyond 64 MiB or 512
 * descriptors the oldest goes, and the connection cannot be mended for who lacks that. Not
 * thread-safe. */
#ifndef GW_WIRE_BACKLOG_H
#define GW_WIRE_BACKLOG_H

#include "graph/wire/message.h"

#include <stdbool.h>

struct gw_backlog;

/* A message that is kept; all of it is the backlog's. */
struct gw_backlog_item {
    uint8_t *frame;
    size_t bytes;
    int *fds;
    uint8_t fd_count;
};

/* gw_backlog_new makes one that keeps nothing yet, NULL without memory; gw_backlog_free closes what
 * it keeps and accepts NULL. */
struct gw_backlog *gw_backlog_new(void);
void gw_backlog_free(struct gw_backlog *backlog);

/* gw_backlog_counts tells whether a message is one that is counted. */
bool gw_backlog_counts(const struct gw_message *message);

/* gw_backlog_add keeps a message that counts, with duplicates of its descriptors, and gives what is
 * to be sent for it: valid until the next call. 0; GW_ENOMEM, GW_ELIMIT (too large a message, or
 * no descriptors left): nothing was counted. */
int gw_backlog_add(struct gw_backlog *backlog, const struct gw_message *message, const int *fds,
                   uint8_t fd_count, const struct gw_backlog_item **item);

/* gw_backlog_took forgets what the other side has taken: that many messages in all. GW_EPROTO where
 * so many were never sent. */
int gw_backlog_took(struct gw_backlog *backlog, uint64_t taken);

/* gw_backlog_can_mend tells whether all is here that a side that has taken so many lacks. */
bool gw_backlog_can_mend(const struct gw_backlog *backlog, uint64_t taken);

/* gw_backlog_item gives message `number` (counted from 1), or NULL where it is not kept; valid
 * until the next call that changes the backlog. */
const struct gw_backlog_item *gw_backlog_item(const struct gw_backlog *backlog, uint64_t number);

#endif
