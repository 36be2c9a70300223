/* Transitions taken in the state tables of a worker's core. */
#include "tests/unit/worker/core/transitions.h"

#include "tests/unit/worker/core/node_world.h"

static uint64_t taken[8][GW_SM_STATES_MAX * GW_SM_STATES_MAX];

void transitions_count(void)
{
    struct gw_sm *sm;
    for (size_t i = 0; (sm = gw_node_core_machine(i)) != NULL; i++)
        sm->taken = taken[i];
}

void transitions_want_all(void)
{
    const struct gw_sm *sm;
    bool all = true;
    for (size_t i = 0; (sm = gw_node_core_machine(i)) != NULL; i++) {
        if (strcmp(sm->name, "worker object") == 0 || strcmp(sm->name, "worker GPU") == 0 ||
            strcmp(sm->name, "worker memfile") == 0)
            continue; /* tests/sim takes all of them */
        for (unsigned from = 0; from < sm->count; from++)
            for (unsigned to = 0; to < sm->count; to++)
                if (gw_sm_may(sm, from, to) && !sm->taken[from * sm->count + to]) {
                    fprintf(stderr, "never taken: %s, %s -> %s\n", sm->name, gw_sm_name(sm, from),
                            gw_sm_name(sm, to));
                    all = false;
                }
    }
    assert_true(all);
}
