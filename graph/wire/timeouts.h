/* How long a scheduler, its workers and its clients wait for each other. All follow from one
 * promise: a connection that breaks, or carries nothing, for less than GW_BREAK_NS loses nothing.
 *
 * When the break begins, the last heartbeat that the worker knows to have arrived may be two
 * periods old: its own period, and the one of the scheduler's heartbeat that acknowledges it. After
 * the break a worker dials within GW_REDIAL_NS, and the next acknowledgement takes two periods
 * again. So a worker fences itself (kills what it runs) GW_FENCE_NS after it sent the last
 * heartbeat that was acknowledged, and not sooner. The scheduler gives its work away GW_LOST_NS
 * after it last heard of the worker, which is no sooner than that heartbeat was sent: GW_KILL_NS
 * after the fence. */
#ifndef GW_WIRE_TIMEOUTS_H
#define GW_WIRE_TIMEOUTS_H

#include "graph/base/clock.h"

#define GW_BREAK_NS (10 * GW_NS_PER_S)
#define GW_HEARTBEAT_NS (1 * GW_NS_PER_S)
#define GW_REDIAL_NS (2 * GW_NS_PER_S) /* dialled every 1.25 s at the latest, and a handshake */
#define GW_FENCE_NS (GW_BREAK_NS + GW_REDIAL_NS + 4 * GW_HEARTBEAT_NS)
#define GW_KILL_NS (4 * GW_NS_PER_S) /* everything that runs at a worker is dead by then */
#define GW_LOST_NS (GW_FENCE_NS + GW_KILL_NS)

#endif
