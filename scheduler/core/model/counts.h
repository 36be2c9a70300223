/* Counters of the state. */
#ifndef GW_SCHEDULER_CORE_COUNTS_H
#define GW_SCHEDULER_CORE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* Number and size of scattered values, of all clients or of one session. */
struct gw_scattered {
    uint64_t values, bytes;
    uint32_t descriptors; /* values that have a file descriptor */
};

/* Overhead of the job of each value, which is counted with the value. tests/unit/test_scattered.c
 * checks it. */
enum { GW_SCATTERED_JOB_BYTES = 1096 };

struct gw_history {
    uint64_t life;       /* random number that identifies this term */
    uint64_t began_with; /* commits at the begin of this term; 0: no state on disk */
    uint64_t commits;    /* commits that are on disk */
};

#endif
