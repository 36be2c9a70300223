/* Outlook: when a worker will have room for ranks that it has no room for now. */
#ifndef GW_SCHEDULER_CORE_FORECAST_H
#define GW_SCHEDULER_CORE_FORECAST_H

#include "scheduler/core/model/state.h"

/* Room for one more rank at a worker. */
struct gw_opening {
    struct gw_worker *worker;
    bool known;       /* enforced limits say when; else at_ns is a guess */
    uint64_t at_ns;   /* at the latest, unless other tasks come */
    uint64_t attempt; /* whose end makes it; 0: nobody's, it is there or comes by itself */
};

/* gw_sched_forecast writes when a worker has room for one rank of a shape, for two, and so on up to
 * `most`, soonest first, and gives how many it wrote: what actors hold never comes back by itself,
 * and a worker that cools down takes no ranks. */
uint32_t gw_sched_forecast(const struct gw_sched *sched, struct gw_worker *worker,
                           const struct gw_shape *shape, uint32_t most,
                           struct gw_opening *openings);

#endif
