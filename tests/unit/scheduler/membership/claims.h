/* The attempts that a registering worker claims to run. */
#ifndef GW_TESTS_SCHEDULER_CLAIMS_H
#define GW_TESTS_SCHEDULER_CLAIMS_H

#include "tests/unit/scheduler/sched_life.h"

/* A row of a registration. */
struct row {
    uint64_t attempt, job;
    uint32_t rank, index, claim, world, gpus;
    uint64_t ran_ns;
};

enum { ROWS_MAX = 16 };

extern const char *claims_are_of; /* the cluster of the claims */

/* connect_worker registers worker "w" with these rows. */
void connect_worker(struct world *w, uint64_t peer, uint64_t incarnation, const struct row *rows,
                    uint32_t count);

/* killed tells whether the first worker was told to end an attempt. */
bool killed(const struct world *w, uint64_t attempt);

#endif
