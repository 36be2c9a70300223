/* Counts that the state holds. */
#ifndef GW_SCHEDULER_CORE_COUNTS_H
#define GW_SCHEDULER_CORE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* Values, of all clients or of one. */
struct gw_scattered {
    uint64_t values, bytes;
    uint32_t descriptors; /* of those that have one each */
};

/* Each value is counted with what its job takes beside it, as tests/unit/test_scattered.c sees. */
enum { GW_SCATTERED_JOB_BYTES = 1096 };

struct gw_history {
    uint64_t life;       /* tells this life of the scheduler from all others */
    uint64_t began_with; /* commits, as this life began; 0: there is no state */
    uint64_t commits;    /* that are on disk */
};

#endif
