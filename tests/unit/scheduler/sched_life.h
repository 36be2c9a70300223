/* Consecutive runs of a scheduler's core: each begins with the facts that the runs before it have
 * committed. For claims of workers at the next run; test_durable.c has runs of its own. */
#ifndef GW_TESTS_SCHED_LIFE_H
#define GW_TESTS_SCHED_LIFE_H

#include "tests/unit/scheduler/sched_world.h"

extern struct gw_buffer life_facts; /* the facts on disk; .size = 0: there are none */
extern uint64_t run_start_ns;       /* both clocks at the begin of a run */

/* life_begin returns a run with a client and no workers; workers live on while there is no
 * scheduler. */
struct world *life_begin(void);

/* life_commit commits the facts of the last event and reports the commit. */
void life_commit(struct world *w);

#endif
