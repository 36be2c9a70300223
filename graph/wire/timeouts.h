/* How long a scheduler, its workers and its clients wait for each other. All times follow from one
 * promise: if a connection breaks or carries no data for less than GW_BREAK_NS, nothing is lost.
 *
 * At the start of such a break, the last heartbeat that the worker knows to have arrived may be two
 * heartbeat periods old: one period of the worker, and one of the scheduler's heartbeat that
 * acknowledges it. After the break, the worker connects again within GW_REDIAL_NS, and the next
 * acknowledgement again takes two periods. So a worker fences itself (kills its tasks) GW_FENCE_NS
 * after it has sent the last acknowledged heartbeat, and not earlier. The scheduler assigns the
 * worker's tasks to others GW_LOST_NS after it last heard from the worker. It cannot have heard
 * from the worker before that heartbeat was sent, so this is at least GW_KILL_NS after the worker
 * fenced itself. */
#ifndef GW_WIRE_TIMEOUTS_H
#define GW_WIRE_TIMEOUTS_H

#include "graph/base/clock.h"

#define GW_BREAK_NS (10 * GW_NS_PER_S)
#define GW_HEARTBEAT_NS (1 * GW_NS_PER_S)
#define GW_REDIAL_NS (2 * GW_NS_PER_S) /* a connection attempt every 1.25 s, plus a handshake */
#define GW_FENCE_NS (GW_BREAK_NS + GW_REDIAL_NS + 4 * GW_HEARTBEAT_NS)
#define GW_KILL_NS (4 * GW_NS_PER_S) /* time after which all tasks of the worker have ended */
#define GW_LOST_NS (GW_FENCE_NS + GW_KILL_NS)

#endif
