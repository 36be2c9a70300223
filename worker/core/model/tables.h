/* Look-ups in the tables of the core: processes by id, gangs by attempt. */
#ifndef GW_WORKER_CORE_MODEL_TABLES_H
#define GW_WORKER_CORE_MODEL_TABLES_H

#include "worker/core/model/state.h"

static inline struct gw_process *gw_process_find(const struct gw_node_core *core, uint64_t id)
{
    uint64_t value;
    return gw_map_get(&core->processes_by_id, id, &value) ? (struct gw_process *)(uintptr_t)value
                                                          : NULL;
}

static inline struct gw_gang *gw_gang_find(const struct gw_node_core *core, uint64_t attempt)
{
    uint64_t value;
    return gw_map_get(&core->gangs, attempt, &value) ? (struct gw_gang *)(uintptr_t)value : NULL;
}

#endif
