/* Pairs of workers whose ranks could not reach each other lately. No gang has ranks at both workers
 * of a pair while it is remembered; each may have ranks with others.
 *
 * A pair is remembered for GW_PARTING_NS, and twice as long each time that a gang fails because of
 * it again, up to GW_PARTING_NS_MAX. It is forgotten when a gang with ranks at both has ended well.
 */
#ifndef GW_SCHEDULER_CORE_PARTING_H
#define GW_SCHEDULER_CORE_PARTING_H

#include "graph/base/text.h"
#include "scheduler/core/model/state.h"

/* Room for ranks at a worker. */
struct gw_pack {
    struct gw_worker *worker;
    uint32_t ranks;
    bool near; /* GPUs that are linked by NVLink suffice for all of the gang that would be there */
    bool home; /* the gang's checkpoint is there: rank 0 goes there; one of them at most */
};

/* gw_sched_parting_begin: a rank at one of them could not reach a rank at the other. Names outlive
 * workers. gw_sched_parting_end: a gang that had ranks at both ended well. */
void gw_sched_parting_begin(struct gw_sched *sched, const struct gw_worker *a,
                            const struct gw_worker *b);
void gw_sched_parting_end(struct gw_sched *sched, const struct gw_worker *a,
                          const struct gw_worker *b);

/* gw_sched_parting_among finds two of these workers that are a pair, and writes them; false: none
 * are. */
bool gw_sched_parting_among(const struct gw_sched *sched, const struct gw_pack *reserved_ranks,
                            uint32_t count, const struct gw_worker *pair[2]);

/* gw_sched_parting_any tells whether there are any pairs at the moment. */
bool gw_sched_parting_any(const struct gw_sched *sched);

/* gw_sched_parting_explain says which pairs there are, where a gang of this shape waits. */
void gw_sched_parting_explain(const struct gw_sched *sched, const struct gw_shape *shape,
                              struct gw_text *text);

/* gw_sched_partings_on_tick lets those be tried again whose time is over;
 * gw_sched_partings_deadline_ns is when that is next. */
void gw_sched_partings_on_tick(struct gw_sched *sched);
uint64_t gw_sched_partings_deadline_ns(const struct gw_sched *sched);

#endif
