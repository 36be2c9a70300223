/* Copies of workers, on which a placement can be tried out. Functions that only read a worker take
 * a copy, too; the copy shares what no placement changes. */
#ifndef GW_SCHEDULER_CORE_WORKERS_WORKER_COPY_H
#define GW_SCHEDULER_CORE_WORKERS_WORKER_COPY_H

#include "scheduler/core/model/state.h"

/* Resources that tasks or ranks of one resource class hold at a worker. */
struct gw_worker_holding {
    const struct gw_resource_class *shape;
    uint32_t debits, slots; /* slots: of all debits */
    uint64_t memory_bytes;
    const uint32_t *gpus; /* their numbers; a share of a GPU: one number for each debit */
    uint32_t gpu_count;
};

/* gw_worker_copy_init copies a worker. The caller gives room for worker->gpu_count GPUs and
 * worker->stock_count named resources. */
void gw_worker_copy_init(struct gw_worker *copy, const struct gw_worker *worker,
                         struct gw_gpu *gpus, struct gw_stock *stock);

/* gw_worker_copy_take and gw_worker_copy_give take resources from a copy, and give them back. What
 * is not free is owed, as at a worker. */
void gw_worker_copy_take(struct gw_worker *copy, const struct gw_worker_holding *holding);
void gw_worker_copy_give(struct gw_worker *copy, const struct gw_worker_holding *holding);

/* gw_worker_copy_reserve sets for how many ranks of a class the reservation of this number has room
 * at a copy. */
void gw_worker_copy_reserve(struct gw_worker *copy, uint32_t number,
                            const struct gw_resource_class *shape, uint32_t ranks);

#endif
