/* Transition tables: look up and count. Drawing is in sm_diagram.c: a core needs no file. */
#include "graph/base/sm.h"

#include <assert.h>

bool gw_sm_may(const struct gw_sm *sm, unsigned from, unsigned to)
{
    assert(sm->count <= GW_SM_STATES_MAX);
    return from < sm->count && to < sm->count && (sm->states[from].next & GW_SM_NEXT(to));
}

void gw_sm_move(const struct gw_sm *sm, uint8_t *state, unsigned to)
{
    assert(gw_sm_may(sm, *state, to));
    if (sm->taken)
        sm->taken[*state * sm->count + to]++;
    *state = (uint8_t)to;
}

const char *gw_sm_name(const struct gw_sm *sm, unsigned state)
{
    return state < sm->count ? sm->states[state].name : "?";
}
