/* The core of a worker: it decides what to run, fetch, keep and kill on this host. It does no input
 * or output.
 *
 * Its peers are the scheduler, runners, the supervisor, and other workers. All of them exchange
 * messages (graph/wire/messages.def). See DESIGN: "The two pure cores". */
#ifndef GW_WORKER_CORE_NODE_H
#define GW_WORKER_CORE_NODE_H

#include "graph/base/sm.h"
#include "graph/wire/step.h"
#include "worker/core/model/options.h"
#include "worker/core/model/output_path.h"

#include <gangway/value.h>

struct gw_node_core;

/* gw_node_core_new creates a core. It copies the options. Like all functions of the core it aborts
 * if out of memory. gw_node_core_free frees the core. The driver must close the tokens that the
 * core still holds. */
struct gw_node_core *gw_node_core_new(const struct gw_node_options *options);
void gw_node_core_free(struct gw_node_core *core);

/* gw_node_core_step handles one event and writes the resulting effects. It empties the list of
 * effects first. Returns 0, or GW_EPROTO if a peer broke the protocol in a way that only the state
 * of the core shows. The driver then closes the connection to that peer and delivers CLOSE. In that
 * case the step changed nothing else, and effects drop the tokens of the message. */
int gw_node_core_step(struct gw_node_core *core, const struct gw_event *event,
                      struct gw_effects *effects);

/* gw_node_core_limit makes the thresholds of memory and health_checks of these options count from
 * the next step on. The results of all health checks are forgotten. Call it between two steps. */
void gw_node_core_limit(struct gw_node_core *core, const struct gw_node_options *options);

/* gw_node_core_deadline_ns returns the latest time for the next TICK event. UINT64_MAX: none is
 * needed. */
uint64_t gw_node_core_deadline_ns(const struct gw_node_core *core);

/* gw_node_core_check checks every invariant of the core with assertions. */
void gw_node_core_check(const struct gw_node_core *core);

/* gw_node_core_stamp fills in the envelope of a message that the driver itself sends to the
 * scheduler (log_data, blob_want). The caller must stamp such messages in the order in which it
 * sends them, and only between welcome and CLOSE. */
void gw_node_core_stamp(struct gw_node_core *core, struct gw_message *message);

/* gw_node_core_executing finds what a process executes now. A runner that was sent several tasks
 * executes the first one. Returns false if the process executes nothing. gw_node_core_find finds an
 * attempt that has not ended. rank selects a rank of a gang. */
bool gw_node_core_executing(const struct gw_node_core *core, uint64_t process,
                            struct gw_node_place *place);
bool gw_node_core_find(const struct gw_node_core *core, uint64_t attempt, uint32_t rank,
                       struct gw_node_place *place);

/* gw_node_core_answer returns the answer to a report of a command (enum gw_control). All ranks of a
 * gang on this worker get the same answer at the same step. */
uint32_t gw_node_core_answer(const struct gw_node_core *core, uint64_t process, int64_t step);

/* gw_node_core_keeps_metric returns false if the attempt of a process has reported as many other
 * metrics as a task may have. Reports of this one are then dropped. */
bool gw_node_core_keeps_metric(const struct gw_node_core *core, uint64_t process, const char *name);

/* What the driver must enforce for a process. memory_bytes: its memory limit, 0: none. ranks: the
 * process is one of several ranks of a command, in which MPI programs are refused. */
struct gw_node_watched {
    uint64_t memory_bytes;
    bool ranks;
};
void gw_node_core_watched(const struct gw_node_core *core, uint64_t process,
                          struct gw_node_watched *watched);

/* gw_node_core_retained_workdir returns the path of the folder that a command with files left on
 * this worker. rank is GW_RANK_NONE unless the command is a gang. Returns NULL if no folder is
 * retained. The path is valid until the next step. */
const char *gw_node_core_retained_workdir(const struct gw_node_core *core, uint64_t job,
                                          uint32_t index, uint32_t rank);

/* gw_node_core_holds returns true if an object is on this worker and is not released. */
bool gw_node_core_holds(struct gw_node_core *core, uint64_t job, uint32_t index, uint32_t rank);

/* gw_node_core_memory reports memory use. used_bytes: total. resident_bytes and spilled_bytes:
 * results in memory and on disk. idle_bytes: the part of used_bytes in memory files that may be
 * returned to the system. files: number of results on disk. files_pending: number of files being
 * written or opened. state: enum gw_memory_state. */
struct gw_node_memory {
    uint64_t used_bytes, resident_bytes, spilled_bytes, idle_bytes;
    size_t files, files_pending;
    uint32_t state;
};
void gw_node_core_memory(const struct gw_node_core *core, struct gw_node_memory *memory);

/* gw_node_core_gpus_clearing returns true while the core waits for the driver to free the GPU
 * memory of an ended process. */
bool gw_node_core_gpus_clearing(const struct gw_node_core *core);

/* gw_node_core_machine returns state machine i of the core, or NULL if there are not that many. To
 * count transitions, set .taken before the first step. */
struct gw_sm *gw_node_core_machine(size_t i);

#endif
