/* Counts the memory that results use, and orders results by last use.
 *
 * Invariants: resident_bytes and spilled_bytes are sums over all objects, and each object counts in
 * one of them. A result is in a list exactly if it could be spilled. */
#include "worker/core/objects/memory.h"

#include <stdlib.h>

/* -- Lists and sums ------------------------------------------------------------------------------
 */

static void unlist(struct gw_object *object)
{
    struct gw_objects *list = object->list;
    if (!list)
        return;
    if (object->older)
        object->older->newer = object->newer;
    else
        list->oldest = object->newer;
    if (object->newer)
        object->newer->older = object->older;
    else
        list->newest = object->older;
    list->count--;
    object->list = NULL;
    object->older = object->newer = NULL;
}

void gw_memory_rank(struct gw_node_core *core, struct gw_object *object)
{
    unlist(object);
    if (object->state != GW_OBJECT_RESIDENT || !object->token || object->pins)
        return;
    struct gw_objects *list = object->users ? &core->memory.wanted : &core->memory.unused;
    object->list = list;
    object->older = list->newest;
    if (list->newest)
        list->newest->newer = object;
    else
        list->oldest = object;
    list->newest = object;
    list->count++;
}

static bool on_disk(const struct gw_object *object)
{
    return object->state >= GW_OBJECT_SPILLED;
}

void gw_memory_add(struct gw_node_core *core, struct gw_object *object)
{
    *(on_disk(object) ? &core->memory.spilled_bytes : &core->memory.resident_bytes) +=
        object->bytes;
    core->memory.descriptors += object->token != 0;
    core->memory.on_disk += on_disk(object);
    core->memory.in_memory += !on_disk(object);
    core->memory.full_added += !on_disk(object);
    gw_memory_rank(core, object);
}

void gw_memory_remove(struct gw_node_core *core, struct gw_object *object)
{
    *(on_disk(object) ? &core->memory.spilled_bytes : &core->memory.resident_bytes) -=
        object->bytes;
    core->memory.descriptors -= object->token != 0;
    core->memory.on_disk -= on_disk(object);
    core->memory.in_memory -= !on_disk(object);
    unlist(object);
}

/* -- Thresholds ----------------------------------------------------------------------------------
 */

static uint64_t line(uint64_t limit, uint32_t permille)
{
    return limit && permille ? limit / 1000 * permille : UINT64_MAX;
}

void gw_memory_limit(struct gw_node_core *core, const struct gw_node_options *thresholds)
{
    const uint64_t bytes = core->options.memory_bytes;
    struct gw_memory *memory = &core->memory;
    memory->target_bytes = line(bytes, thresholds->target_permille);
    memory->spill_bytes = line(bytes, thresholds->spill_permille);
    memory->pause_bytes = line(bytes, thresholds->pause_permille);
    memory->terminate_bytes = line(bytes, thresholds->terminate_permille);
}

void gw_memory_init(struct gw_node_core *core)
{
    const uint32_t descriptors_max = core->options.descriptors_max;
    gw_memory_limit(core, &core->options);
    core->memory.descriptors_max = descriptors_max ? descriptors_max : UINT32_MAX;
}

void gw_memory_deinit(struct gw_node_core *core)
{
    gw_map_deinit(&core->memory.files);
    free(core->memory.trouble);
}

uint64_t gw_memory_used(const struct gw_node_core *core)
{
    return core->memory.own_bytes + core->memory.processes_bytes + core->memory.resident_bytes +
           core->memfiles.bytes;
}
