/* Options of a scheduler core. */
#ifndef GW_SCHEDULER_CORE_OPTIONS_H
#define GW_SCHEDULER_CORE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct gw_sched_options {
    uint64_t heartbeat_ns;   /* 0: GW_HEARTBEAT_NS */
    uint64_t worker_lost_ns; /* silence after which a worker counts as lost; 0: GW_LOST_NS */
    uint32_t crash_budget;   /* runner deaths that one task may cause; 0: 3 */
    uint32_t loss_budget;    /* workers that may be lost under one task; 0: 10 */
    uint32_t window; /* most attempts that a worker has at a time for each of its slots, with the
                        prefetched ones; 0: the default */
    uint32_t range_block;         /* rows of a range that are freed together; 0: default */
    uint64_t first_job;           /* smallest id that was never used by a job; 0: 1 */
    uint64_t pure_bytes_max;      /* kept results of pure tasks that no task needs; 0: 64 MiB */
    uint64_t scattered_bytes_max; /* limit of scattered values; 0: no limit */
    /* Limit of scattered values with a descriptor; 0: no limit. */
    uint32_t scattered_descriptors_max;
    uint32_t history_jobs;    /* ended jobs in the history; 0: 10,000 */
    bool keeps_workers;       /* connected workers are durable: their tasks outlive this term */
    bool accounting;          /* ended jobs and queries about them are effects, see accounting.h */
    bool is_private;          /* the cluster ends with one client, so there are no detached jobs */
    uint64_t ageing_ns;       /* after this time a waiting gang rises in the order; 0: 10 min */
    uint64_t preempt_look_ns; /* between two looks for work to preempt; 0: 1 s */
    const char *state_dir;    /* sent to peers; borrowed */
    const char *address;      /* TLS address of the scheduler; NULL: none; borrowed */
    const char *owner;   /* name of the user of clients that connect without a token, for the log;
                            NULL: unknown; borrowed */
    const char *cluster; /* cluster id; NULL: ""; borrowed */
};

#endif
