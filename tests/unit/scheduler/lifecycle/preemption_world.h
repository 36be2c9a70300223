/* What the tests of preemption share: a cluster with accounts, and what its users submit and see.
 */
#ifndef GW_TESTS_PREEMPTION_WORLD_H
#define GW_TESTS_PREEMPTION_WORLD_H

#include "scheduler/core/lifecycle/preemption.h"
#include "scheduler/core/model/model.h"
#include "tests/unit/scheduler/gang_world.h"

#define SECOND (1000 * MS)

enum { ADA = CLIENT + 1, BOB, CYD };

/* begin_shared makes a cluster of `workers` workers with so many slots each, and the policy that
 * set_policy sets. */
struct world *begin_shared(int workers, uint32_t slots);
void set_policy(struct world *w, uint64_t preempt_after_ns);

/* add_job submits a task or gang that never queues at a worker, as job `number`. */
void add_job(struct world *w, uint64_t peer, uint64_t number, struct gw_msg_spec spec);

/* save stores a checkpoint of an attempt. run_saved starts the gang that was just placed at a
 * worker, and saves one. */
void save(struct world *w, int worker, uint64_t attempt, int64_t step);
uint64_t run_saved(struct world *w, int worker, uint32_t ranks);

/* say_started: the attempt of a task has started at the first worker. */
void say_started(struct world *w, uint64_t attempt);

/* told: the worker was sent a message of this type in the last step. */
bool told(const struct world *w, int worker, uint32_t type);
void expect_control(struct world *w, int worker, uint64_t attempt, uint32_t command);

/* pause_at_a_step: the ranks of a gang of functions return. ranks_killed: the ranks of a gang were
 * killed. */
void pause_at_a_step(struct world *w, int worker, uint64_t attempt, uint32_t ranks);
void ranks_killed(struct world *w, int worker, uint64_t attempt, uint32_t ranks);
void expect_no_charges(const struct world *w, uint64_t job);

#endif
