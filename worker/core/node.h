/* The worker's core: what to run, fetch, keep and kill on this host. No input or output.
 *
 * Its peers are the scheduler, runners, the guardian, and other workers; all of them speak messages
 * (graph/wire/messages.def). See DESIGN: "The two pure cores". */
#ifndef GW_WORKER_CORE_NODE_H
#define GW_WORKER_CORE_NODE_H

#include "graph/base/sm.h"
#include "graph/wire/step.h"
#include "worker/core/model/options.h"
#include "worker/core/model/output_path.h"

#include <gangway/value.h>

struct gw_node_core;

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

/* gw_node_core_machine returns table i of the core's state machines, NULL behind the last; whoever
 * wants counts sets .taken before the first step. */
struct gw_sm *gw_node_core_machine(size_t i);

#endif
