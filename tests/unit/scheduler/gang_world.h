/* What tests of gangs in the scheduler's core say and expect, beside sched_world.h. */
#ifndef GW_TESTS_GANG_WORLD_H
#define GW_TESTS_GANG_WORLD_H

#include "scheduler/core/model/state.h"
#include "tests/unit/scheduler/sched_world.h"

/* ready has a rank stand; go has both ranks of a gang at one worker stand, and go. */
void ready(struct world *w, int worker, uint64_t attempt, uint32_t rank);
uint64_t go(struct world *w, int worker);

#endif
