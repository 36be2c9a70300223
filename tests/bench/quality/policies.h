/* The policies that are compared. All except `gangway` know every duration and size. */
#ifndef GW_TESTS_QUALITY_POLICIES_H
#define GW_TESTS_QUALITY_POLICIES_H

#include "tests/bench/quality/model.h"

/* policies_NAME runs the model's graph under a policy and returns the makespan in nanoseconds.
 *
 * random, round_robin: each row is assigned when it is ready. heft: Topcuoglu, Hariri and Wu,
 * "Performance-effective and low-complexity task scheduling", 2002: rows by upward rank, each to
 * the worker where it ends first, gaps are filled. b_level: whenever a worker is idle, the ready
 * row with the longest path to the end, to the worker where it would start first. gangway: the
 * scheduler core. */
uint64_t policies_random(struct model *model);
uint64_t policies_round_robin(struct model *model);
uint64_t policies_heft(struct model *model);
uint64_t policies_b_level(struct model *model);
uint64_t policies_gangway(struct model *model);

#endif
