/* The constraint of a task or rank on its worker. See workers/need.h. */
#ifndef GW_SCHEDULER_CORE_NEEDED_H
#define GW_SCHEDULER_CORE_NEEDED_H

#include "graph/base/arena.h"
#include "graph/model/places.h"
#include "graph/model/resources.h"

#include <stdbool.h>
#include <stdint.h>

/* A task without a slot uses one unit of this named resource, of which each worker has
 * GW_SLOTLESS_MAX. No user can give this name, because it has spaces. */
#define GW_SLOTLESS "places for tasks without a slot"

struct gw_need {
    uint32_t refs;
    uint64_t gpu_memory_bytes; /* of each of its GPUs */
    struct gw_resources resources;
    struct gw_pairs workers; /* names of workers or hosts; none: any */
    struct gw_places places; /* gang: ranks for each worker, see places.h; or none */
    bool prefer; /* true: the named workers are preferred, and other workers are used if these have
                    no room */
    struct gw_arena arena;
};

#endif
