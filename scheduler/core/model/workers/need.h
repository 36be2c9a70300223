/* Constraints: what a rank needs of its worker besides slots, GPUs and memory: named resources,
 * GPUs with a minimum of memory, or workers of certain names. A constraint is part of a resource
 * class. Most classes have none. */
#ifndef GW_SCHEDULER_CORE_NEED_H
#define GW_SCHEDULER_CORE_NEED_H

#include "graph/model/places.h"
#include "graph/model/resources.h"
#include "scheduler/core/model/state.h"

/* gw_sched_need_new reads the constraint of a spec. *need is NULL if the spec has none. Returns
 * GW_EINVAL with a text. gw_sched_need_unref accepts NULL. */
int gw_sched_need_new(const struct gw_msg_spec *spec, struct gw_need **need,
                      struct gw_error *error);
struct gw_need *gw_sched_need_ref(struct gw_need *need);
void gw_sched_need_unref(struct gw_need *need);

/* gw_sched_need_equal compares two constraints. Both may be NULL. */
bool gw_sched_need_equal(const struct gw_need *a, const struct gw_need *b);

/* gw_sched_need_ranks returns for how many ranks a worker has the required resources, including
 * GPUs, now or (ever) if it were empty. UINT64_MAX: any number. */
uint64_t gw_sched_need_ranks(const struct gw_worker *worker, const struct gw_resource_class *shape,
                             bool ever);

/* gw_sched_need_serves returns true if a worker runs tasks of the class's user. */
bool gw_sched_need_serves(const struct gw_worker *worker, const struct gw_resource_class *shape);

/* gw_sched_need_unserved returns GW_EINFEASIBLE and says what to do if no worker runs tasks of the
 * class's user, and 0 if one does or if a lost worker might. */
int gw_sched_need_unserved(const struct gw_sched *sched, const struct gw_resource_class *shape,
                           struct gw_error *error);

/* gw_sched_need_names returns true if the constraint names this worker. */
bool gw_sched_need_names(const struct gw_need *need, const struct gw_worker *worker);

/* gw_sched_need_allows returns true if the constraint names this worker or names no worker. */
bool gw_sched_need_allows(const struct gw_need *need, const struct gw_worker *worker);

/* gw_sched_need_amount returns the required amount of a named resource (0 if need is NULL).
 * gw_sched_need_stock_left returns the free amount at a worker, which is negative if the resource
 * is overdrawn. */
uint32_t gw_sched_need_amount(const struct gw_need *need, const char *name);
int64_t gw_sched_need_stock_left(const struct gw_worker *worker, const char *name);

/* gw_sched_need_take takes a rank's named resources from a worker. gw_sched_need_give returns them.
 */
void gw_sched_need_take(struct gw_worker *worker, const struct gw_need *need);
void gw_sched_need_give(struct gw_worker *worker, const struct gw_need *need);

/* gw_sched_need_missing writes which part of a constraint no connected worker could ever satisfy.
 * It returns GW_EINFEASIBLE, or GW_ENOENT for a name that no worker ever had. It returns 0 if every
 * part can be satisfied, or could be after a lost worker reconnects. */
int gw_sched_need_missing(const struct gw_sched *sched, const struct gw_resource_class *shape,
                          struct gw_error *error);

/* gw_sched_need_here returns GW_ENOENT, with the existing names, if no ready worker has one of the
 * names in the constraint. */
int gw_sched_need_here(const struct gw_sched *sched, const struct gw_need *need,
                       struct gw_error *error);

/* gw_sched_need_gone writes the names in the constraint that no connected worker has. It returns
 * true if there are any. */
bool gw_sched_need_gone(const struct gw_sched *sched, const struct gw_need *need, char *text,
                        size_t bytes);

/* gw_sched_need_describe appends ", 2 of license, on worker-1 or worker-2" to `text`. */
void gw_sched_need_describe(const struct gw_need *need, char *text, size_t bytes);

/* gw_sched_need_stock_set gives a worker the named resources of its registration.
 * gw_sched_need_stock_check only checks them. It returns GW_EPROTO if the list is malformed. */
int gw_sched_need_stock_check(const char *resources);
void gw_sched_need_stock_set(struct gw_worker *worker, const char *resources);

#endif
