/* Helpers for tests of gangs in the scheduler's core, in addition to sched_world.h. */
#ifndef GW_TESTS_GANG_WORLD_H
#define GW_TESTS_GANG_WORLD_H

#include "scheduler/core/model/state.h"
#include "tests/unit/scheduler/sched_world.h"

/* ready reports a rank as ready; go reports both ranks of a gang at one worker as ready and expects
 * the start. */
void ready(struct world *w, int worker, uint64_t attempt, uint32_t rank);
uint64_t go(struct world *w, int worker);

#endif
