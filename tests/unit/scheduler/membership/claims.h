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

/* one_runs makes a scheduler run in which a detached task is placed at worker 7; returns its
 * attempt. gang_runs makes one in which a detached gang starts, rank 0 at worker 7 and rank 1 at
 * worker 8, and sets its rows. */
struct row one_runs(void);
void gang_runs(struct row rows[2], struct gw_msg_spec spec);
extern size_t unwritten; /* the size of the facts of the last gang's start */

/* tell_crash reports the end of an attempt, which may have been listed as ended. */
void tell_crash(struct world *w, uint64_t peer, const struct row *row);

#endif
