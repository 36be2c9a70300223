/* Ranks that hang: which of a gang's they are, once nothing moves any more. */
#ifndef GW_SCHEDULER_CORE_HANG_H
#define GW_SCHEDULER_CORE_HANG_H

#include "graph/base/text.h"
#include "scheduler/core/model/state.h"

/* gw_sched_on_gang_stuck takes a worker's word that its ranks of an attempt have stood still for
 * their limit (no rows: they move again). When all ranks that live stand still and do not stand at
 * the same place, their workers are asked where their processes are; when those have answered the
 * attempt is ended, and those behind are named. GW_EPROTO. */
int gw_sched_on_gang_stuck(struct gw_sched *sched, struct gw_worker *worker,
                           const struct gw_msg_gang_stuck *stuck);

/* gw_sched_hang_on_finished: a rank ended well; the others' workers, which tell once, may have told
 * before. */
void gw_sched_hang_on_finished(struct gw_sched *sched, struct gw_gang_attempt *gang);

/* gw_sched_hang_ask_late has the workers look at the ranks of a gang that are not ready in time;
 * they have GW_HANG_LOOK_NS. gw_sched_hang_late gives the rank that is to blame, one that is
 * stopped rather than another that is not ready, and writes in `stacks` where those are, as far as
 * that is known. */
void gw_sched_hang_ask_late(struct gw_sched *sched, struct gw_gang_attempt *gang);
uint32_t gw_sched_hang_late(const struct gw_gang_attempt *gang, char *stacks, size_t stacks_bytes);

/* How far a rank has come. */
struct gw_standing {
    uint32_t rank;
    uint64_t begun;        /* collectives that it has called */
    const char *operation; /* the one that it is in; empty: in none */
    bool stopped;          /* its process is */
    const char *stack;     /* where its process is, in a line; NULL: nobody knows */
};

/* gw_sched_hang_text says in words who hangs, and where the others are; *named: the first of them.
 * False where nobody does: all are at one place, or nobody waits for anybody. */
bool gw_sched_hang_text(const struct gw_standing *ranks, uint32_t count, char *text,
                        size_t text_bytes, uint32_t *named);

/* Lines that gw_sched_hang_stacks writes at most. */
enum { GW_HANG_LINES_MAX = 8 };

/* gw_sched_hang_stacks writes where the ranks' processes are, those that hang first: a line each
 * place, the first GW_HANG_LINES_MAX of them, as far as whole lines fit. */
void gw_sched_hang_stacks(const struct gw_standing *ranks, uint32_t count, char *text,
                          size_t text_bytes);

/* gw_sched_hang_explain appends, of a gang of commands of which none has used CPU or written
 * anything for its limit, that this is so; else nothing. Such a gang is not ended: it may wait for
 * others. */
void gw_sched_hang_explain(const struct gw_gang_attempt *gang, struct gw_text *text);

/* gw_sched_gangs_on_tick has the ranks looked at that do not stand in time, and ends their attempts
 * when that has had its time, too. gw_sched_hang_end_late ends one. */
void gw_sched_gangs_on_tick(struct gw_sched *sched);
void gw_sched_hang_end_late(struct gw_sched *sched, struct gw_gang_attempt *gang);

#endif
