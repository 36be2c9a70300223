/* Forecast: when a worker will have room for ranks that do not fit now. */
#ifndef GW_SCHEDULER_CORE_FORECAST_H
#define GW_SCHEDULER_CORE_FORECAST_H

#include "scheduler/core/model/state.h"

/* The time at which a worker has room for one more rank. */
struct gw_opening {
    struct gw_worker *worker;
    bool known;       /* true: at_ns follows from the time limits of tasks; false: at_ns is a guess
                         from earlier run times */
    uint64_t at_ns;   /* latest time at which there is room, unless other tasks come */
    uint64_t attempt; /* attempt whose end makes the room; 0: none */
};

/* What one long attempt, or all short attempts of a worker queue together, will free. */
struct gw_release {
    uint64_t at_ns;   /* see `known` of an opening */
    uint32_t attempt; /* slot of the (last) attempt in the table */
    uint32_t debits, slots;
    uint64_t memory_bytes;
    const struct gw_worker_queue *lane;
    bool known;
};

struct gw_releases {
    struct gw_release *items;
    size_t count, capacity;
};

/* gw_sched_forecast_left_ns returns how much longer a task of a spec is expected to run that has
 * run for ran_ns: as its kind ran on average (if it has run longer, it is expected to run on for as
 * long as it is late), at most until its time limit. *known is false if it has neither. */
uint64_t gw_sched_forecast_left_ns(const struct gw_spec *spec, uint64_t ran_ns, bool *known);

/* gw_sched_forecast_releases appends what the attempts of a worker will free: at the latest, or
 * (expected) when gw_sched_forecast_left_ns expects it. Actors are assumed to stay. */
void gw_sched_forecast_releases(const struct gw_sched *sched, const struct gw_worker *worker,
                                bool expected, struct gw_releases *releases);

/* gw_sched_forecast writes when a worker will have room for one rank of a shape, for two, and so on
 * up to `most`, the soonest first. It returns the number of entries. Actors are assumed to stay. A
 * worker in quarantine takes no ranks. */
uint32_t gw_sched_forecast(const struct gw_sched *sched, struct gw_worker *worker,
                           const struct gw_resource_class *shape, uint32_t most,
                           struct gw_opening *openings);

/* gw_sched_forecast_without returns how many ranks of a shape (an ordinary task: 1 at most) a
 * worker would have room for if these long attempts had ended, besides the room of a set of held
 * reservations. Each of these needs only what its own victims do not give back, except those of the
 * attempts that count as ended. Two reservations share the GPUs of a worker only if both need whole
 * ones of the same kind. ended: by slot, not 0 for each of them; NULL: none. worker NULL: 0. */
uint32_t gw_sched_forecast_without(const struct gw_sched *sched, const struct gw_worker *worker,
                                   const struct gw_resource_class *shape, const uint8_t *ended,
                                   uint32_t held);

#endif
