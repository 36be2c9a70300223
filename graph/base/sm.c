/* Transition tables: look up, count, draw. */
#include "graph/base/sm.h"

#include <assert.h>
#include <inttypes.h>

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

void gw_sm_diagram(const struct gw_sm *sm, FILE *out)
{
    fprintf(out, "digraph \"%s\" {\n", sm->name);
    for (unsigned from = 0; from < sm->count; from++)
        fprintf(out, "    \"%s\";\n", gw_sm_name(sm, from));
    for (unsigned from = 0; from < sm->count; from++)
        for (unsigned to = 0; to < sm->count; to++) {
            if (!gw_sm_may(sm, from, to))
                continue;
            fprintf(out, "    \"%s\" -> \"%s\"", gw_sm_name(sm, from), gw_sm_name(sm, to));
            uint64_t taken = sm->taken ? sm->taken[from * sm->count + to] : 0;
            if (taken)
                fprintf(out, " [label=\"%" PRIu64 "\"]", taken);
            fputs(";\n", out);
        }
    fputs("}\n", out);
}
