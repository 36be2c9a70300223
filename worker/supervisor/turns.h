/* Queue of processes that wait in a reaper until its present process is reaped. */
#ifndef GW_SUPERVISOR_TURNS_H
#define GW_SUPERVISOR_TURNS_H

#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "graph/wire/message.h"

#include <stdbool.h>

struct gw_turn {
    uint64_t process;
    struct gw_buffer frame;
};

/* A zeroed structure is empty. */
struct gw_turns {
    GW_ARRAY(struct gw_turn) list; /* in order */
    struct gw_buffer frame;        /* frame of the last one taken */
    struct gw_arena arena;
};

/* gw_turns_add appends a copy of a spawn message. Aborts if out of memory. */
void gw_turns_add(struct gw_turns *turns, const struct gw_msg_spawn *spawn);

/* gw_turns_take removes the first entry and returns it. Its pointers are valid until the next call.
 * Returns false if the queue is empty. */
bool gw_turns_take(struct gw_turns *turns, struct gw_msg_spawn *spawn);

/* gw_turns_drop removes the entry of a process. Returns false if there is none. */
bool gw_turns_drop(struct gw_turns *turns, uint64_t process);

#endif
