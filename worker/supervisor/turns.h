/* Processes that wait in a reaper for the one that it has to be buried. */
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

/* Zeroed: empty. */
struct gw_turns {
    GW_ARRAY(struct gw_turn) list; /* the next one first */
    struct gw_buffer frame;        /* of the one that was taken last */
    struct gw_arena arena;
};

/* gw_turns_add keeps a copy of a spawn, behind all others. Aborts when out of memory. */
void gw_turns_add(struct gw_turns *turns, const struct gw_msg_spawn *spawn);

/* gw_turns_take gives back the first and takes it out; what it points to lasts until the next call.
 * False: there is none. */
bool gw_turns_take(struct gw_turns *turns, struct gw_msg_spawn *spawn);

/* gw_turns_drop takes a process out; false where it is not there. */
bool gw_turns_drop(struct gw_turns *turns, uint64_t process);

#endif
