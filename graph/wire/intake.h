/* Intakes: what one side of a connection has taken of what the other side kept in its backlog,
 * where the connection is mended by another. Not thread-safe.
 *
 * Who mends says how much it has taken when it dials. Until the other side answers, the first
 * connection may come to itself and bring more of it, which then comes by the second once more: so
 * until then nothing else may be said, or the other side would forget what it is to send again. */
#ifndef GW_WIRE_INTAKE_H
#define GW_WIRE_INTAKE_H

#include "graph/wire/message.h"

#include <stdbool.h>

/* All zero: nothing was taken yet. */
struct gw_intake {
    uint64_t taken; /* messages that count (see backlog.h) */
    uint64_t said;  /* taken, when another connection was dialled last */
    uint64_t again; /* messages that come once more */
    bool dialling;  /* another connection was dialled, and nobody has answered */
};

/* gw_intake_say gives what to say to the other side when a connection is dialled that is to mend
 * this one: how many messages were taken. */
uint64_t gw_intake_say(struct gw_intake *intake);

/* gw_intake_move goes on by the connection that was dialled last; gw_intake_stay does not, since
 * that one came to nothing. */
void gw_intake_move(struct gw_intake *intake);
void gw_intake_stay(struct gw_intake *intake);

/* gw_intake_forgettable gives how many messages the other side need not keep any more. */
uint64_t gw_intake_forgettable(const struct gw_intake *intake);

/* gw_intake_take counts a message, and tells whether it is new: false for one that was taken
 * before. Messages that do not count are always new. */
bool gw_intake_take(struct gw_intake *intake, const struct gw_message *message);

#endif
