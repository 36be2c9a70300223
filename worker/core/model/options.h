/* Options that the driver passes to the core of a worker when it creates the core. */
#ifndef GW_WORKER_CORE_MODEL_OPTIONS_H
#define GW_WORKER_CORE_MODEL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    GW_NODE_PATH_MAX = 4096,
    GW_RETAINED_WORKDIRS_MAX = 64,
    GW_NODE_SLOW_BYTES = 8 << 20, /* if more bytes are queued to the scheduler, it counts as slow */
};
/* After a worker is told to shut down, its tasks get at most this time to end, even if their own
 * grace period is longer. After the last task has ended, the worker stays for at most the same time
 * again, so that other workers can copy its checkpoints. */
#define GW_LEAVE_NS UINT64_C(60000000000)

enum gw_health_check {
    GW_HEALTH_DISK,
    GW_HEALTH_MEMORY,
    GW_HEALTH_CLOCK,
    GW_HEALTH_SCRIPT, /* of the admin; the last one */
    GW_HEALTH_CHECKS
};

struct gw_node_options {
    uint32_t slots;
    uint32_t cores; /* number of cores, which are divided among the slots (variable
                       OMP_NUM_THREADS); 0: as many as slots */
    uint64_t memory_bytes;
    /* Memory thresholds in thousandths of memory_bytes. 0: no such threshold. See memory_limits.c.
     */
    uint32_t target_permille, spill_permille, pause_permille, terminate_permille;
    uint32_t descriptors_max; /* maximum number of descriptors for results; 0: no limit */
    bool spills_off;          /* no disk is available to spill results to */
    const struct gw_node_gpu {
        const char *uuid, *name;
        uint64_t memory_bytes;
        /* Two GPUs with the same nvlink_domain reach each other over NVLink. Two GPUs with the same
         * bridge reach each other without a path through the processor. */
        uint32_t nvlink_domain, bridge;
        int32_t numa_node; /* -1: unknown */
        const char *cpus,
            *physical_gpu;   /* CPUs near this GPU; physical GPU of a MIG instance. NULL: none */
        uint64_t used_bytes; /* in use before the worker started any process on it */
        uint32_t processes;  /* number of processes on it at that time */
    } * gpus;                /* ordered by nearness; see gpu/device/device.h */
    uint32_t gpu_count;
    uint64_t
        gpu_clear_ns;    /* maximum time that the driver may take to free a GPU's memory; 0: 10 s */
    bool gpus_watched;   /* true: the caller of the core reports measurements of GPUs, and more
                            often while memory of a GPU is being freed */
    const char *host;    /* name of this host, shown to users */
    const char *machine; /* unique identity of this host's kernel; NULL: unknown */
    const char *address; /* address of the socket for other workers */
    const char *interface; /* network interface that reaches other hosts; NULL: unknown */
    const char
        *private_socket; /* socket of the scheduler of a private cluster; NULL: a shared one */
    const char *log_dir; /* folder of output files: <job>/<index>.<attempt>[.<rank>].out and .err */
    const char *resources;      /* named resources of this worker, "name=amount,..."; NULL: none */
    const char *checkpoint_dir; /* a task's checkpoint folder is <job>/<index> below it */
    const char *binary_dir;     /* folder of the worker's executable; NULL: unknown */
    uint64_t heartbeat_ns;      /* 0: GW_HEARTBEAT_NS */
    uint64_t fence_ns;  /* if the scheduler has sent nothing for this time, the worker kills its
                           runners;  0: GW_FENCE_NS */
    uint64_t orphan_ns; /* maximum time to run while connecting is refused; 0: 10 min */
    uint64_t runner_idle_ns; /* an idle runner of a pool ends after this time; 0: 60 s */
    uint32_t yielded_max;    /* most tasks on this worker that may wait for other tasks at a time,
                             which    yields their slots; 0: 512 */
    /* Maximum size of the retained folders of commands with files; 0: none is retained */
    uint64_t retained_bytes_max;
    uint32_t health_checks; /* bits: 1 << enum gw_health_check, of those that the driver runs */
    bool all_users;         /* runs tasks of all users */
    bool separate_users; /* `user` of a spec is the folder of its user; else the core ignores it */
    uint32_t uid;        /* user id of the worker's own processes */
    bool far; /* true: clients connect to the scheduler by TLS, so processes of tasks do not
                 connect to it as clients do */
};

#endif
