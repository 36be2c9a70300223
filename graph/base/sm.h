/* State machines as tables. A table has for each state its name and the set of states that may
 * follow.
 *
 * The tables are also the documentation: `gangway-sim --diagram` prints them and shows from
 * gw_sm.taken how often each transition was taken. The functions are pure. The counters belong to
 * the table and are not thread-safe; a core runs on one thread. */
#ifndef GW_BASE_SM_H
#define GW_BASE_SM_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { GW_SM_STATES_MAX = 32 };
#define GW_SM_NEXT(state) (UINT32_C(1) << (state))

struct gw_sm_state {
    const char *name;
    uint32_t next; /* GW_SM_NEXT(a) | GW_SM_NEXT(b) */
};

struct gw_sm {
    const char *name;
    const struct gw_sm_state *states;
    size_t count;
    uint64_t *taken; /* count x count counters, one row per old state; NULL: transitions are not
                        counted */
};

/* gw_sm_may returns true if the table allows the transition `from` -> `to`. */
static inline bool gw_sm_may(const struct gw_sm *sm, unsigned from, unsigned to)
{
    return from < sm->count && to < GW_SM_STATES_MAX && (sm->states[from].next & GW_SM_NEXT(to));
}

/* gw_sm_move asserts that the transition is allowed, counts it and stores the new state in *state.
 * It is inline because it is called seven times for each task, and a call would cost more than the
 * table look-up. */
static inline void gw_sm_move(const struct gw_sm *sm, uint8_t *state, unsigned to)
{
    assert(gw_sm_may(sm, *state, to));
    if (sm->taken)
        sm->taken[*state * sm->count + to]++;
    *state = (uint8_t)to;
}

/* gw_sm_name returns the name of a state. The string is static. */
const char *gw_sm_name(const struct gw_sm *sm, unsigned state);

/* gw_sm_diagram writes the table as a Graphviz digraph. Edges that were taken are labelled with
 * their counts. */
void gw_sm_diagram(const struct gw_sm *sm, FILE *out);

#endif
