/* A world around the core of a worker: the messages of the other sides, and the messages it sent.
 */
#ifndef GW_TESTS_NODE_WORLD_H
#define GW_TESTS_NODE_WORLD_H

#include "tests/unit/unit.h"

#include "graph/base/map.h"
#include "graph/wire/enums.h"
#include "graph/wire/timeouts.h"
#include "worker/core/node.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEDULER = 1, SUPERVISOR = 2, PEER = 3, RUNNER = 100 /* + process */ };
#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

/* In place of finish's bytes: a large value whose descriptor is missing. */
#define NO_DESCRIPTOR UINT64_C(5001)

struct world {
    struct gw_node_core *core;
    struct gw_effects effects;
    uint64_t now_ns, sequence;
    uint64_t lives;                /* of the scheduler, before this one */
    uint64_t processes;            /* spawned so far */
    uint64_t leased_attempt;       /* the last LEASE */
    uint64_t folder;               /* the last FOLDER */
    uint64_t folder_gone, counted; /* the last UNFOLDER, the last COUNT */
    uint64_t emptied;              /* memory files */
    uint64_t folders_gone, connects, programs, leases, unleases, unbinds, aborts, exits, drops;
    struct gw_map open_runners;       /* process -> 1 */
    GW_ARRAY(uint64_t) fresh;         /* runners spawned in this step */
    GW_ARRAY(struct gw_event) looked; /* answers to program checks of this step */
    int32_t look_code;                /* of all of them */
    GW_ARRAY(struct gw_effect) disk;  /* SPILL, RESTORE and UNLINK; without their tokens */
    bool scheduler_closed;            /* the core requested it */
    uint64_t lazy;                    /* number of messages that may be sent with others */
    GW_ARRAY(struct gw_message) sent; /* since the last clear; borrowed memory copied to arena */
    GW_ARRAY(uint64_t) sent_to;
    struct gw_arena arena;
    struct gw_buffer buffer;
};

struct dep {
    uint64_t job, maker; /* maker: with worker GW_DEP_HERE, the attempt that makes it */
    uint32_t index, rank, worker;
};

struct task {
    uint64_t attempt;
    uint32_t index, spec, rank; /* rank: + 1; 0 means none */
    const struct dep *dep;      /* NULL: none */
    uint32_t gpu;               /* + 1; 0 is none */
    uint64_t job;               /* 0 means 1 */
};

struct gw_bin bin(const void *data, size_t bytes);
int step(struct world *w, struct gw_event event);
void raise_event(struct world *w, struct gw_event event);
int deliver_with(struct world *w, uint64_t from, struct gw_message message, const uint64_t *tokens,
                 uint32_t token_count);
void deliver(struct world *w, uint64_t from, struct gw_message message);
void tick(struct world *w, uint64_t ns);
void forget_sent(struct world *w);
const struct gw_message *sent(const struct world *w, uint32_t type, size_t n);
const struct gw_message *must_send(const struct world *w, uint32_t type);
void open_scheduler(struct world *w);
struct world *new_world(uint32_t slots);
/* new_world_limited: memory_bytes, the thresholds, gpus_watched, retained_bytes_max and
 * health_checks of `memory` apply. */
struct world *new_world_limited(uint32_t slots, const struct gw_node_options *memory);
void free_world(struct world *w);
void send_spec(struct world *w, struct gw_msg_spec spec);
void program_ready(struct world *w, int code, const char *text);
void function_spec(struct world *w, struct gw_msg_spec spec);
int assign(struct world *w, struct task task);
void must_assign(struct world *w, struct task task);
void hello(struct world *w, uint64_t process, uint32_t protocol);
int finish(struct world *w, uint64_t process, uint64_t attempt, uint32_t rank, uint64_t bytes,
           uint64_t run_ns);
void spawned(struct world *w, uint64_t process, int code, const char *text);
void runner_closes(struct world *w, uint64_t process);
void reap(struct world *w, uint64_t process);
void exits(struct world *w, uint64_t process, int exit_code, int signal);
void dies(struct world *w, uint64_t process, int exit_code, int signal);
void kill_attempt(struct world *w, uint64_t attempt, uint32_t reason);
struct world *world_with_runner(struct gw_msg_spec spec);

/* send_gang announces a gang of `world` ranks, all of them here; leased gives it its port. */
void send_gang(struct world *w, uint64_t attempt, uint32_t world);
void leased(struct world *w, uint64_t attempt);

#endif
