/* Names of states. The diagram is in sm_diagram.c, because the cores must not write files. */
#include "graph/base/sm.h"

const char *gw_sm_name(const struct gw_sm *sm, unsigned state)
{
    return state < sm->count ? sm->states[state].name : "?";
}
