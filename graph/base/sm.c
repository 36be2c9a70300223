/* Transition tables: names. Drawing is in sm_diagram.c: a core needs no file. */
#include "graph/base/sm.h"

const char *gw_sm_name(const struct gw_sm *sm, unsigned state)
{
    return state < sm->count ? sm->states[state].name : "?";
}
