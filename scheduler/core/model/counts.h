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

/* Resources that a job has used. */
struct gw_job_usage {
    uint64_t started_wall_ns; /* when its first attempt was placed; 0: not yet, or unknown */
    uint64_t slot_ns, gpu_ns; /* slots and GPUs multiplied by time */
    uint64_t memory_mib_ms;   /* requested memory multiplied by time */
    uint64_t cpu_ns;          /* CPU time of its attempts that have ended */
    uint64_t peak_bytes;      /* highest memory of a process; 0: not measured */
    uint64_t recorded_ns;     /* slot_ns + gpu_ns as they are durable */
};

/* When a task's latest attempt began, and how long it ran. */
struct gw_ran {
    uint64_t started_wall_ns, run_ns;
};

struct gw_history {
    uint64_t life;       /* random number that identifies this term */
    uint64_t began_with; /* commits at the begin of this term; 0: no state on disk */
    uint64_t commits;    /* commits that are on disk */
};

#endif
