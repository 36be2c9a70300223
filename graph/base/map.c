/* A hash map with linear probing: see hash_table.h. EMPTY, the key that marks empty slots, can be
 * used as a key, too. Its entry is in the slot after the table. */
#include "graph/base/map.h"

#include "graph/base/hash_table.h"

#include <gangway/error.h>
#include <stdlib.h>
#include <string.h>

struct gw_map_slot {
    uint64_t key, value;
};

#define EMPTY UINT64_MAX
#define SPARE_FULL 0 /* value of `key` in the slot after the table if EMPTY has an entry */

/* Returns the slot of a key other than EMPTY, or the empty slot where the key would be inserted.
 * The capacity must not be 0. */
static struct gw_map_slot *map_find(const struct gw_map *map, uint64_t key)
{
    size_t mask = map->capacity - 1;
    size_t i = gw_hash_table_mix(key) & mask;
    while (map->slots[i].key != key && map->slots[i].key != EMPTY)
        i = (i + 1) & mask;
    return &map->slots[i];
}

void gw_map_deinit(struct gw_map *map)
{
    free(map->slots);
    *map = (struct gw_map){0};
}

int gw_map_reserve(struct gw_map *map, size_t extra)
{
    size_t count;
    if (__builtin_add_overflow(map->count, extra, &count))
        return GW_ENOMEM;
    if (count <= map->capacity / 4 * 3)
        return 0;
    struct gw_map grown = {.capacity = gw_hash_table_capacity(map->capacity, count),
                           .count = map->count};
    if (!grown.capacity)
        return GW_ENOMEM;
    grown.slots = malloc((grown.capacity + 1) * sizeof *grown.slots);
    if (!grown.slots)
        return GW_ENOMEM;
    memset(grown.slots, 0xff, (grown.capacity + 1) * sizeof *grown.slots);
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].key != EMPTY)
            *map_find(&grown, map->slots[i].key) = map->slots[i];
    if (map->capacity)
        grown.slots[grown.capacity] = map->slots[map->capacity];
    free(map->slots);
    *map = grown;
    return 0;
}

int gw_map_put(struct gw_map *map, uint64_t key, uint64_t value)
{
    if (map->count + 1 > map->capacity / 4 * 3 && !gw_map_get(map, key, NULL)) {
        int rc = gw_map_reserve(map, 1);
        if (rc < 0)
            return rc;
    }
    bool spare = key == EMPTY;
    struct gw_map_slot *slot = spare ? &map->slots[map->capacity] : map_find(map, key);
    map->count += slot->key == EMPTY;
    slot->key = spare ? SPARE_FULL : key;
    slot->value = value;
    return 0;
}

bool gw_map_get(const struct gw_map *map, uint64_t key, uint64_t *value)
{
    if (!map->count)
        return false;
    const struct gw_map_slot *slot = key == EMPTY ? &map->slots[map->capacity] : map_find(map, key);
    if (slot->key == EMPTY)
        return false;
    if (value)
        *value = slot->value;
    return true;
}

bool gw_map_remove(struct gw_map *map, uint64_t key)
{
    if (!map->count)
        return false;
    struct gw_map_slot *slot = key == EMPTY ? &map->slots[map->capacity] : map_find(map, key);
    if (slot->key == EMPTY)
        return false;
    map->count--;
    slot->key = EMPTY;
    if (key == EMPTY)
        return true;

    size_t mask = map->capacity - 1;
    size_t hole = (size_t)(slot - map->slots);
    for (size_t i = (hole + 1) & mask; map->slots[i].key != EMPTY; i = (i + 1) & mask) {
        size_t home = gw_hash_table_mix(map->slots[i].key) & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue; /* moving the entry would put it before its home slot */
        map->slots[hole] = map->slots[i];
        map->slots[i].key = EMPTY;
        hole = i;
    }
    return true;
}

bool gw_map_next(const struct gw_map *map, size_t *at, uint64_t *key, uint64_t *value)
{
    if (!map->count)
        return false;
    while (*at <= map->capacity && map->slots[*at].key == EMPTY)
        ++*at;
    if (*at > map->capacity)
        return false;
    *key = *at == map->capacity ? EMPTY : map->slots[*at].key;
    if (value)
        *value = map->slots[*at].value;
    ++*at;
    return true;
}
