/* Backlogs: the messages that one side of a connection has sent and that the other side may not
 * have received. If the connection breaks, a new connection replaces it, these messages are sent
 * again, and nothing is lost.
 *
 * Both sides count the messages from 1. Heartbeats are neither counted nor kept. A message is
 * removed from the backlog when the other side has acknowledged it. If the backlog exceeds 64 MiB
 * or 512 descriptors, the oldest messages are removed; a peer that has not received them can then
 * not reconnect. Not thread-safe. */
#ifndef GW_WIRE_BACKLOG_H
#define GW_WIRE_BACKLOG_H

#include "graph/wire/message.h"

#include <stdbool.h>

struct gw_backlog;

/* A message in the backlog. The backlog owns its memory and descriptors. */
struct gw_backlog_item {
    uint8_t *frame;
    size_t bytes;
    int *fds;
    uint8_t fd_count;
};

/* gw_backlog_new makes an empty backlog, or returns NULL if out of memory. gw_backlog_free also
 * closes the descriptors of the messages. It accepts NULL. */
struct gw_backlog *gw_backlog_new(void);
void gw_backlog_free(struct gw_backlog *backlog);

/* gw_backlog_counts returns true for messages that are counted. */
bool gw_backlog_counts(const struct gw_message *message);

/* gw_backlog_add adds a message that counts, with duplicates of its descriptors. It returns the
 * item to send, which is valid until the next call. Returns 0, or GW_ENOMEM, or GW_ELIMIT if the
 * message is too large or no descriptors are free. After an error the message was not counted. */
int gw_backlog_add(struct gw_backlog *backlog, const struct gw_message *message, const int *fds,
                   uint8_t fd_count, const struct gw_backlog_item **item);

/* gw_backlog_took removes the messages that the other side has acknowledged: `taken` messages in
 * total. Returns GW_EPROTO if fewer messages were sent. */
int gw_backlog_took(struct gw_backlog *backlog, uint64_t taken);

/* gw_backlog_can_reconnect returns true if the backlog has all messages that a peer lacks which has
 * received `taken` messages. */
bool gw_backlog_can_reconnect(const struct gw_backlog *backlog, uint64_t taken);

/* gw_backlog_item returns message `number` (counted from 1), or NULL if it is not in the backlog.
 * The item is valid until the next call that changes the backlog. */
const struct gw_backlog_item *gw_backlog_item(const struct gw_backlog *backlog, uint64_t number);

#endif
