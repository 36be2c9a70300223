/* The worker's core: what to run, fetch, keep and kill on this host. No input or output.
 *
 * Its peers are the scheduler, runners, the guardian, and other workers; all of them speak messages
 * (graph/wire/messages.def). See DESIGN: "The two pure cores". */
#ifndef GW_WORKER_CORE_NODE_H
#define GW_WORKER_CORE_NODE_H

#include "graph/base/sm.h"
#include "graph/wire/step.h"

#include <gangway/value.h>

struct gw_node_core;

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
        uint32_t island, bridge;
        int32_t numa_node;        /* -1: not known */
        const char *cpus, *board; /* near ones; the GPU of an instance. NULL: none */
        uint64_t used_bytes;      /* there before anything of ours is, */
        uint32_t processes;       /* likewise */
    } * gpus;                     /* in an order by nearness; see gpu/device/device.h */
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

/* gw_node_core_new makes a core (options are copied); aborts when out of memory, as all of the core
 * does. gw_node_core_free frees it; tokens it still holds are the driver's to close. */
struct gw_node_core *gw_node_core_new(const struct gw_node_options *options);
void gw_node_core_free(struct gw_node_core *core);

/* gw_node_core_step takes one event and gives the effects that follow from it (the list is emptied
 * first). 0, or GW_EPROTO where a peer broke the protocol in a way that only the state shows: the
 * driver then closes that peer, and CLOSE follows; nothing else was changed, and the tokens of the
 * message are dropped by effects. */
int gw_node_core_step(struct gw_node_core *core, const struct gw_event *event,
                      struct gw_effects *effects);

/* gw_node_core_deadline_ns is when it wants a TICK at the latest; UINT64_MAX: never. */
uint64_t gw_node_core_deadline_ns(const struct gw_node_core *core);

/* gw_node_core_check walks every invariant and asserts it. */
void gw_node_core_check(const struct gw_node_core *core);

/* gw_node_core_stamp writes the envelope of a message that the driver itself sends to the scheduler
 * (log_data, blob_want), in the order in which they leave; between welcome and CLOSE. */
void gw_node_core_stamp(struct gw_node_core *core, struct gw_message *message);

/* What a process runs, or where an attempt is. rank: GW_RANK_NONE where it is not a gang. process
 * 0: not started. */
struct gw_node_place {
    uint64_t job, attempt, process;
    uint32_t index, rank;
    uint32_t kind; /* enum gw_spec_kind */
    bool keeps;    /* an actor's: what its calls print is moved to its files after each */
};

/* gw_node_core_executing tells what a process executes at the moment, if anything; a runner that
 * was sent several tasks executes the first of them. gw_node_core_find tells the same of an attempt
 * (rank: of a gang) that has not ended. */
bool gw_node_core_executing(const struct gw_node_core *core, uint64_t process,
                            struct gw_node_place *place);
bool gw_node_core_find(const struct gw_node_core *core, uint64_t attempt, uint32_t rank,
                       struct gw_node_place *place);

/* What the driver looks at in a process: memory_bytes: what it may use, 0: no limit. ranks: whether
 * it is one of several ranks of a command, where MPI programs are refused. */
struct gw_node_watched {
    uint64_t memory_bytes;
    bool ranks;
};
void gw_node_core_watched(const struct gw_node_core *core, uint64_t process,
                          struct gw_node_watched *watched);

/* gw_node_core_kept is the folder that a command with files left here (rank: GW_RANK_NONE where it
 * is no gang), NULL where there is none, or none any more; valid until the next step. */
const char *gw_node_core_kept(const struct gw_node_core *core, uint64_t job, uint32_t index,
                              uint32_t rank);

/* gw_node_core_holds tells whether an object is here, and was not released. */
bool gw_node_core_holds(struct gw_node_core *core, uint64_t job, uint32_t index, uint32_t rank);

/* gw_node_core_memory tells what is used: bytes in all, results in memory and on disk, how many of
 * them lie on disk, and how many more files are being written or opened; idle: of what is used, in
 * memory files that may be given back. state: enum gw_memory_state. */
struct gw_node_memory {
    uint64_t used_bytes, resident_bytes, spilled_bytes, idle_bytes;
    size_t files, files_pending;
    uint32_t state;
};
void gw_node_core_memory(const struct gw_node_core *core, struct gw_node_memory *memory);

/* gw_node_core_gpus_clearing tells whether it waits until what a process used of a GPU is free. */
bool gw_node_core_gpus_clearing(const struct gw_node_core *core);

/* gw_node_output_path writes where an attempt's output lies below log_dir: extension "out" or
 * "err"; cut and terminated. gw_node_capture_path: where a pooled runner's output gathers until it
 * is moved there; incarnation: the worker's. */
void gw_node_output_path(const char *log_dir, const struct gw_node_place *place,
                         const char *extension, char path[static GW_NODE_PATH_MAX]);
void gw_node_capture_path(const char *log_dir, uint64_t incarnation, uint64_t process,
                          const char *extension, char path[static GW_NODE_PATH_MAX]);

/* gw_node_core_machine returns table i of the core's state machines, NULL behind the last; whoever
 * wants counts sets .taken before the first step. */
struct gw_sm *gw_node_core_machine(size_t i);

#endif
