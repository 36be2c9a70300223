/* Detection of ranks that hang in a gang that makes no progress. */
#ifndef GW_SCHEDULER_CORE_HANG_H
#define GW_SCHEDULER_CORE_HANG_H

#include "graph/base/text.h"
#include "scheduler/core/model/state.h"

/* gw_sched_on_gang_stuck handles a worker's report that its ranks of an attempt have not moved for
 * their time limit. A report without rows says that they move again. If no living rank moves and
 * the ranks are at different places, the workers are asked for the stacks of the processes. After
 * all answers the attempt is ended, and the error names the ranks that hang. Returns GW_EPROTO for
 * a malformed report. */
int gw_sched_on_gang_stuck(struct gw_sched *sched, struct gw_worker *worker,
                           const struct gw_msg_gang_stuck *stuck);

/* gw_sched_hang_on_finished checks the remaining ranks after a rank ended well. Each worker reports
 * only once that its ranks do not move, possibly before that end. */
void gw_sched_hang_on_finished(struct gw_sched *sched, struct gw_gang_attempt *gang);

/* gw_sched_hang_ask_late asks the workers for the stacks of ranks that are not ready in time. The
 * workers have GW_HANG_LOOK_NS to answer. gw_sched_hang_late returns the rank to blame, preferably
 * one whose process is stopped. It writes the known stacks of the ranks that are not ready to
 * `stacks`. */
void gw_sched_hang_ask_late(struct gw_sched *sched, struct gw_gang_attempt *gang);
uint32_t gw_sched_hang_late(const struct gw_gang_attempt *gang, char *stacks, size_t stacks_bytes);

/* The progress of one rank. */
struct gw_rank_state {
    uint32_t rank;
    uint64_t begun;        /* number of collectives that the rank has called */
    const char *operation; /* collective in which the rank is, or "" */
    bool stopped;          /* the process of the rank is stopped */
    const char *stack;     /* where the process of the rank is, in one line; NULL: unknown */
};

/* gw_sched_hang_text writes which ranks hang and where the other ranks are. *named is the first
 * rank that hangs. Returns false if no rank hangs: all ranks are at the same place, or none waits
 * in a collective. */
bool gw_sched_hang_text(const struct gw_rank_state *ranks, uint32_t count, char *text,
                        size_t text_bytes, uint32_t *named);

/* The largest number of lines that gw_sched_hang_stacks writes. */
enum { GW_HANG_LINES_MAX = 8 };

/* gw_sched_hang_stacks writes where the processes of the ranks are. Ranks with the same stack share
 * a line, and the ranks that hang come first. It writes at most GW_HANG_LINES_MAX lines, and only
 * whole lines that fit. */
void gw_sched_hang_stacks(const struct gw_rank_state *ranks, uint32_t count, char *text,
                          size_t text_bytes);

/* gw_sched_hang_explain appends a sentence to `text` if no rank of a gang of commands has used CPU
 * or written output for the hang timeout. Otherwise it appends nothing. Such a gang is not ended,
 * because its ranks may wait for something outside of the gang. */
void gw_sched_hang_explain(const struct gw_gang_attempt *gang, struct gw_text *text);

/* gw_sched_hang_on_tick asks for the stacks of ranks that are not ready in time. It ends their
 * attempt if the answers are late as well. gw_sched_hang_end_late ends one such attempt. */
void gw_sched_hang_on_tick(struct gw_sched *sched);
void gw_sched_hang_end_late(struct gw_sched *sched, struct gw_gang_attempt *gang);

#endif
