/* What tests of gangs in the scheduler's core say and expect, beside sched_world.h. */
#ifndef GW_TESTS_GANG_WORLD_H
#define GW_TESTS_GANG_WORLD_H

#include "scheduler/core/state.h"
#include "tests/unit/sched_world.h"

/* submit_gang submits one, as job `request`; pass lets time pass; ready has a rank stand, and
 * rank_ended end. explained wants words in what explain says of a job's first task. */
void submit_gang(struct world *w, uint64_t request, struct gw_msg_spec spec);
void pass(struct world *w, uint64_t ns);
void ready(struct world *w, int worker, uint64_t attempt, uint32_t rank);
/* Both ranks of a gang at one worker stand, and go. */
uint64_t go(struct world *w, int worker);
void rank_ended(struct world *w, int worker, struct gw_msg_ended ended);
void explained(struct world *w, uint64_t job, const char *words);

#endif
