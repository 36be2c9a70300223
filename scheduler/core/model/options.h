/* What a scheduler core is made with. */
#ifndef GW_SCHEDULER_CORE_OPTIONS_H
#define GW_SCHEDULER_CORE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct gw_sched_options {
    uint64_t heartbeat_ns;   /* 0: GW_HEARTBEAT_NS */
    uint64_t worker_lost_ns; /* silence after which a worker's work is given away; 0: GW_LOST_NS */
    uint32_t crash_budget;   /* ends of a runner that one task may cause; 0: 3 */
    uint32_t loss_budget;    /* workers that one task may lose; 0: 10 */
    uint32_t window; /* tasks in flight a worker and slot, prefetched ones included; 0: default */
    uint32_t range_block;         /* rows of a range that are given back together; 0: default */
    uint64_t first_job;           /* no job before had this id or a higher one; 0: 1 */
    uint64_t pure_keep_bytes;     /* results of pure tasks that nobody needs now; 0: 64 MiB */
    uint64_t scattered_bytes_max; /* of values that clients scattered; 0: no limit */
    uint32_t scattered_descriptors_max; /* of those that are not in messages; 0: no limit */
    uint32_t history_jobs;              /* ended jobs that stay listed; 0: 10,000 */
    bool keeps_workers;    /* it is durable who is connected: what runs outlives this life */
    uint64_t ageing_ns;    /* after which a waiting gang rises in the order; 0: 10 min */
    const char *state_dir; /* told to peers; borrowed */
    const char *address;   /* likewise: where others reach it by TLS; NULL: they cannot */
    const char *owner;     /* for the log: whose the clients without a token are; NULL: not known */
    const char *cluster;   /* likewise: what tells its jobs from those of another; NULL: "" */
};

#endif
