/* Intakes: the received messages of a connection, counted so that a new connection can replace a
 * broken one without losing or repeating messages. backlog.h is the sending side. Not thread-safe.
 *
 * The side that reconnects reports how many messages it has received. The old connection may still
 * deliver messages until the other side answers. The other side sends these messages again on the
 * new connection. So no newer count may be reported until the answer arrives: otherwise the other
 * side would remove messages from its backlog that it still has to send again. */
#ifndef GW_WIRE_INTAKE_H
#define GW_WIRE_INTAKE_H

#include "graph/wire/message.h"

#include <stdbool.h>

/* All zero: nothing was received yet. */
struct gw_intake {
    uint64_t taken; /* number of messages received that count (see backlog.h) */
    uint64_t said;  /* value of taken when the last new connection was opened */
    uint64_t again; /* number of received messages that will arrive again */
    bool dialling;  /* a new connection was opened and the other side has not answered yet */
};

/* gw_intake_say returns the count to report when a new connection is opened to replace this one:
 * how many messages were received. */
uint64_t gw_intake_say(struct gw_intake *intake);

/* gw_intake_move continues on the connection that was opened last. gw_intake_stay continues on the
 * old one, because the new one failed. */
void gw_intake_move(struct gw_intake *intake);
void gw_intake_stay(struct gw_intake *intake);

/* gw_intake_forgettable returns how many messages the other side may remove from its backlog. */
uint64_t gw_intake_forgettable(const struct gw_intake *intake);

/* gw_intake_take counts a message. It returns false if the message was received before. For
 * messages that do not count it returns true. */
bool gw_intake_take(struct gw_intake *intake, const struct gw_message *message);

#endif
