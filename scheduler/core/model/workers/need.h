/* Needs: what a rank needs of its worker beside slots, GPUs and memory: named resources, GPUs with
 * so much memory, workers of certain names. Part of a shape; most shapes have none. */
#ifndef GW_SCHEDULER_CORE_NEED_H
#define GW_SCHEDULER_CORE_NEED_H

#include "graph/model/places.h"
#include "graph/model/resources.h"
#include "scheduler/core/model/state.h"

/* gw_sched_need_new reads a spec's; *need is NULL where it asks for nothing of the kind. GW_EINVAL
 * with a text. unref accepts NULL. */
int gw_sched_need_new(const struct gw_msg_spec *spec, struct gw_need **need,
                      struct gw_error *error);
struct gw_need *gw_sched_need_ref(struct gw_need *need);
void gw_sched_need_unref(struct gw_need *need);

/* gw_sched_need_equal compares, NULL with NULL too. */
bool gw_sched_need_equal(const struct gw_need *a, const struct gw_need *b);

/* gw_sched_need_ranks is how many ranks of a shape a worker has what is needed for, GPUs included:
 * now, or (ever) if it were empty. UINT64_MAX: as many as you like. */
uint64_t gw_sched_need_ranks(const struct gw_worker *worker, const struct gw_shape *shape,
                             bool ever);

/* gw_sched_need_names tells whether a worker is one that the need asks for by name. */
bool gw_sched_need_names(const struct gw_need *need, const struct gw_worker *worker);

/* gw_sched_need_allows tells whether a worker is one that it asks for, or it asks for none. */
bool gw_sched_need_allows(const struct gw_need *need, const struct gw_worker *worker);

/* gw_sched_need_amount is how much of a named resource a need asks for (NULL: nothing).
 * gw_sched_need_stock_left is how much a worker has left of it; negative where it is overdrawn. */
uint32_t gw_sched_need_amount(const struct gw_need *need, const char *name);
int64_t gw_sched_need_stock_left(const struct gw_worker *worker, const char *name);

/* gw_sched_need_take and gw_sched_need_give move a rank's resources out of a worker's stock and
 * back. */
void gw_sched_need_take(struct gw_worker *worker, const struct gw_need *need);
void gw_sched_need_give(struct gw_worker *worker, const struct gw_need *need);

/* gw_sched_need_missing writes which part of a shape's need no worker that is there could ever
 * meet: GW_EINFEASIBLE, and for names that nobody ever had GW_ENOENT. 0: none, or it may come back
 * with a worker that is gone. */
int gw_sched_need_missing(const struct gw_sched *sched, const struct gw_shape *shape,
                          struct gw_error *error);

/* gw_sched_need_here is GW_ENOENT, with the names that there are, where no worker that is ready has
 * one of those that the need asks for. */
int gw_sched_need_here(const struct gw_sched *sched, const struct gw_need *need,
                       struct gw_error *error);

/* gw_sched_need_gone writes the names that it asks for of which no worker is there, and tells
 * whether there are any. */
bool gw_sched_need_gone(const struct gw_sched *sched, const struct gw_need *need, char *text,
                        size_t bytes);

/* gw_sched_need_describe writes ", 2 of license, on worker-1 or worker-2" behind what is there. */
void gw_sched_need_describe(const struct gw_need *need, char *text, size_t bytes);

/* gw_sched_need_stock_set gives a worker what its registration offers; GW_EPROTO where that is no
 * list. gw_sched_need_stock_check only looks. */
int gw_sched_need_stock_check(const char *resources);
void gw_sched_need_stock_set(struct gw_worker *worker, const char *resources);

#endif
