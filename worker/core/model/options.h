/* What a worker's core is told when it begins. */
#ifndef GW_WORKER_CORE_MODEL_OPTIONS_H
#define GW_WORKER_CORE_MODEL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    GW_NODE_PATH_MAX = 4096,
    GW_NODE_KEPT_MAX = 64,
    GW_NODE_SLOW_BYTES = 8 << 20, /* queued to the scheduler: more is slow */
};
/* How long what runs has to end at most, whatever its own grace, once the worker was told to end;
 * and how long that stays after the last of it has, for others to take its checkpoints. */
#define GW_LEAVE_NS UINT64_C(60000000000)

struct gw_node_options {
    uint32_t slots;
    uint32_t cores; /* shared out over the slots as OMP_NUM_THREADS; 0: as many as slots */
    uint64_t memory_bytes;
    /* Lines in thousandths of memory_bytes, 0: there is none. See memory.c. */
    uint32_t target_permille, spill_permille, pause_permille, terminate_permille;
    uint32_t descriptors_max; /* that results may hold; 0: no limit */
    bool spills_off;          /* there is no disk to write results to */
    const struct gw_node_gpu {
        const char *uuid, *name;
        uint64_t memory_bytes;
        /* How near others are: those of one number reach each other over NVLink; without a way
         * through the processor. */
        uint32_t nvlink_domain, bridge;
        int32_t numa_node;               /* -1: not known */
        const char *cpus, *physical_gpu; /* near ones; the GPU of an instance. NULL: none */
        uint64_t used_bytes;             /* there before anything of ours is, */
        uint32_t processes;              /* likewise */
    } * gpus;                            /* in an order by nearness; see gpu/device/device.h */
    uint32_t gpu_count;
    uint64_t gpu_clear_ns; /* how long what was on a GPU may take to be gone; 0: 10 s */
    bool gpus_watched;     /* the driver tells how they do, more often while they are clearing */
    const char *host;      /* name of this host, for people */
    const char *machine;   /* what no other kernel is called; NULL: unknown */
    const char *address;   /* of the peers' socket */
    const char *interface; /* by which other hosts are reached; NULL: unknown */
    const char *log_dir;   /* output files lie below: <job>/<index>.<attempt>[.<rank>].out, .err */
    const char *resources; /* "name=amount,...", to be had by name; NULL: none */
    const char *checkpoint_dir; /* <job>/<index> below it is the folder of a task */
    const char *binary_dir;     /* where the worker's own program lies; NULL: not known */
    uint64_t heartbeat_ns;      /* 0: GW_HEARTBEAT_NS */
    uint64_t fence_ns; /* silence of the scheduler after which runners are killed; 0: GW_FENCE_NS */
    uint64_t orphan_ns;      /* how long they run on while connecting is refused; 0: 10 min */
    uint64_t runner_idle_ns; /* pooled runners end after it; 0: 60 s */
    uint32_t lent_max; /* tasks that may wait for others at once and lend their slots; 0: 512 */
    uint64_t kept_bytes_max; /* of folders that commands with files left; 0: none is kept */
    uint32_t uid;            /* of the worker's own processes */
    bool far;                /* those cannot reach the scheduler as its user does: it is by TLS */
};

#endif
