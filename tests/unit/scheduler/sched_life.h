/* Lives of a scheduler's core that follow one another: each begins with what those before it have
 * committed. For what workers bring to the next one; test_durable.c has lives of its own. */
#ifndef GW_TESTS_SCHED_LIFE_H
#define GW_TESTS_SCHED_LIFE_H

#include "tests/unit/scheduler/sched_world.h"

extern struct gw_buffer life_facts; /* what is on disk; .size = 0: nothing was before */

/* life_begin gives one with a client and no workers; they live on while there is no scheduler. */
struct world *life_begin(void);

/* life_commit puts what follows from the last event on disk, and says so. */
void life_commit(struct world *w);

#endif
