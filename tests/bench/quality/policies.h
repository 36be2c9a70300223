/* The policies that are compared. All but `gangway` know every duration and size. */
#ifndef GW_TESTS_QUALITY_POLICIES_H
#define GW_TESTS_QUALITY_POLICIES_H

#include "tests/bench/quality/model.h"

/* policies_<name> runs the model's graph under it and gives the makespan in nanoseconds.
 *
 * random, round_robin: each row goes somewhere when it is ready. heft: Topcuoglu, Hariri and Wu,
 * "Performance-effective and low-complexity task scheduling", 2002: rows by upward rank, each where
 * it ends first, gaps filled. b_level: whenever a worker is idle, the ready row with the longest
 * way to the end, where it would start first. gangway: the scheduler's core. */
uint64_t policies_random(struct model *model);
uint64_t policies_round_robin(struct model *model);
uint64_t policies_heft(struct model *model);
uint64_t policies_b_level(struct model *model);
uint64_t policies_gangway(struct model *model);

#endif
