/* Pairs of workers whose ranks could not reach each other recently. While a pair is remembered, no
 * gang has ranks at both workers. Each of them may have ranks together with other workers.
 *
 * A pair is remembered for GW_PARTING_NS, and for twice as long after each further failure, up to
 * GW_PARTING_NS_MAX. It is forgotten when a gang with ranks at both workers has ended well. */
#ifndef GW_SCHEDULER_CORE_PARTING_H
#define GW_SCHEDULER_CORE_PARTING_H

#include "graph/base/text.h"
#include "scheduler/core/model/state.h"

/* Room for ranks at a worker. */
struct gw_pack {
    struct gw_worker *worker;
    uint32_t ranks;
    bool near; /* GPUs of one NVLink domain are enough for the ranks of the gang there */
    bool home; /* this worker has the gang's checkpoint, so rank 0 will run there; at most one
                  worker has this flag */
};

/* gw_sched_parting_begin: a rank at one of the workers could not reach a rank at the other. The
 * entry uses names, because names outlive workers. gw_sched_parting_end: a gang with ranks at both
 * ended well. */
void gw_sched_parting_begin(struct gw_sched *sched, const struct gw_worker *a,
                            const struct gw_worker *b);
void gw_sched_parting_end(struct gw_sched *sched, const struct gw_worker *a,
                          const struct gw_worker *b);

/* gw_sched_parting_among finds a pair among these workers and writes it to `pair`. Returns false if
 * there is none. */
bool gw_sched_parting_among(const struct gw_sched *sched, const struct gw_pack *reserved_ranks,
                            uint32_t count, const struct gw_worker *pair[2]);

/* gw_sched_parting_any returns true if any pair is remembered now. */
bool gw_sched_parting_any(const struct gw_sched *sched);

/* gw_sched_parting_explain describes the pairs to a waiting gang of this class. */
void gw_sched_parting_explain(const struct gw_sched *sched, const struct gw_resource_class *shape,
                              struct gw_text *text);

/* gw_sched_partings_on_tick allows pairs again whose time is over. gw_sched_partings_deadline_ns
 * returns when that is next. */
void gw_sched_partings_on_tick(struct gw_sched *sched);
uint64_t gw_sched_partings_deadline_ns(const struct gw_sched *sched);

#endif
