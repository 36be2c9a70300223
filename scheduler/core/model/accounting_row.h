/* The data that the accounting has of a job that has ended, or that runs. Plain data for
 * the store (scheduler/accounting), which is not a part of the core. */
#ifndef GW_SCHEDULER_CORE_ACCOUNTING_ROW_H
#define GW_SCHEDULER_CORE_ACCOUNTING_ROW_H

#include <stdbool.h>
#include <stdint.h>

struct gw_accounting_row {
    uint64_t job, parent; /* parent 0: no task submitted it */
    const char *user, *account, *queue, *name;
    const char *state; /* "done", "failed", "cancelled" or "running" */
    bool runs;         /* not stored: only for the query that follows; ended_ns is now */
    uint64_t tasks, done, failed, cancelled;
    uint64_t ranks;    /* of the largest gang; 0: no gang */
    uint64_t attempts; /* of its only task; 0: it has several tasks */
    /* The request of one task or rank. */
    uint64_t slots, gpu_thousandths, memory_bytes;
    /* Wall-clock times in nanoseconds since 1970. started_ns 0: no task ran. */
    uint64_t submitted_ns, started_ns, ended_ns;
    uint64_t slot_ns, gpu_ns, memory_mib_ms; /* resources multiplied by time */
    uint64_t cpu_ns;
    uint64_t peak_bytes;     /* highest memory of a process; 0: not measured */
    int32_t code, exit_code; /* of the first failure; 0: none */
};

#endif
