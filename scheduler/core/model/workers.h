/* Workers, and what they offer: GPUs and named resources. See state.h. */
#ifndef GW_SCHEDULER_CORE_MODEL_WORKERS_H
#define GW_SCHEDULER_CORE_MODEL_WORKERS_H

#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "graph/wire/message.h"
#include "scheduler/core/model/adopted.h"
#include "scheduler/core/model/outgoing.h"
#include "scheduler/core/model/reserved.h"

#include <stdbool.h>
#include <stdint.h>

struct gw_remote;
struct gw_worker_queue;

/* A GPU of a worker, or a MIG instance of one. See gpu.h. */
struct gw_gpu {
    uint64_t memory_bytes;
    /* Attempt that has the whole GPU; its owner, see gpu_twin.h; or GW_NO_INDEX. */
    uint32_t slot, twin;
    uint32_t shared; /* thousandths that attempts share */
    /* Owned texts or NULL: reason of the worker for draining, reason of an admin for draining
     * (gpu_drain.c), and who undrained it. */
    char *drained, *remembered, *back;
    /* GPUs with the same number share an NVLink domain, a PCIe bridge, or a NUMA node. */
    uint32_t nvlink_domain, bridge;
    int32_t numa_node;
    const char *uuid, *name, *physical_gpu, *cpus;
    uint64_t used_bytes, idle_since_ns; /* by its worker's last report, as the next line; 0: busy */
    uint32_t processes, power_mw, busy_percent, clearing;
};

/* A named resource that a worker offers. */
struct gw_stock {
    const char *name;
    uint32_t amount, free;
    uint32_t over; /* taken although none was free, see slots_over of a worker */
};

/* Short attempts whose successors were not pipelined yet, oldest first. Some may have ended. */
struct gw_frontier {
    GW_ARRAY(uint64_t) attempts;
    size_t at;   /* entries before it were handled */
    bool listed; /* is on the list sched->frontiers */
};

struct gw_stale {
    uint64_t attempt;
    uint32_t rank;
};

struct gw_worker {
    uint32_t id;   /* never reused */
    uint32_t slot; /* index into sched->workers */
    uint8_t state;
    struct gw_remote *remote;
    struct gw_arena arena; /* for texts of the registration */
    const char *host, *address, *machine;
    uint64_t incarnation;
    uint32_t slots, slots_free, gpu_count, gpus_free, instances_free;
    uint64_t memory_bytes, memory_free;
    uint32_t slots_over; /* slots in use that the worker does not have; freed ones reduce it */
    uint64_t memory_over;
    uint32_t reserved;       /* the set of reservations with ranks here */
    uint32_t reserved_slots; /* free slots that are kept for these ranks, at most */
    uint32_t reserved_ranks[GW_RESERVATIONS];
    uint32_t blocked; /* attempts that wait for other tasks */
    uint32_t aside;   /* attempts that memory need not wait for, see memory.h */
    struct gw_gpu *gpus;
    struct gw_stock *stock;
    uint32_t stock_count;
    struct gw_worker_queue **queues; /* by id of the resource class */
    uint32_t queue_count;
    uint32_t first, last; /* attempts, oldest first */
    uint32_t attempts;
    uint32_t first_holder;
    uint64_t held_bytes;
    struct gw_worker *prev, *next; /* list of workers with the same number of free slots */
    GW_ARRAY(struct gw_stale) stale;
    GW_ARRAY(struct gw_late_claim) late; /* late claims, see adopt.c */
    uint64_t joined;      /* fact of its connection; 0: none, or of an earlier term */
    uint32_t *neighbours; /* by worker slot: id of the neighbour that it knows */
    uint32_t neighbour_count;
    uint64_t heard_ns, beats_sent, beat_seen, memory_used_bytes;
    struct gw_msg_memory memory; /* last report, without its text */
    char *memory_trouble;        /* text of the last report; NULL: none */
    bool memory_one, all_users;  /* one task may be placed although memory is short; serves all */
    char *unhealthy, *clock_why; /* last report of its checks, and of that of its clock, owned;
                                    NULL: none, or it is well */
    int32_t clock_s;             /* of its report, how far its clock is ahead of this one */
    bool health_known;
    bool drained, drain_told;    /* see worker_drain.h; it was asked for what it has not begun */
    bool leaves, let_go;         /* was told to end; need not stay for checkpoints; see leave.h */
    uint64_t expected_bytes;     /* memory that its attempts are expected to take */
    uint64_t score_epoch, score; /* used by the current placement */
    struct gw_worker_rows rows;
    struct gw_frontier frontier;
};

/* If most workers say that their clocks differ in the same direction, this scheduler's clock is
 * wrong. */
struct gw_clock_trouble {
    uint32_t differ; /* how many of them; 0: the clock of this scheduler is right */
    uint32_t workers;
    int32_t clock_s; /* how far the nearest of them is ahead of this scheduler's */
};

#endif
