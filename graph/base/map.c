/* Hash maps with linear probing. A removal moves later entries back, so there are no tombstones and
 * a look-up ends at the first empty slot.
 *
 * capacity is 0 or a power of two; at most 3/4 of it is used. In the integer map, slot `capacity`
 * (one behind the table) holds the entry of the key that marks empty slots, if it is there. */
#include "graph/base/map.h"

#include <gangway/error.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_MIN = 16 };
#define CAPACITY_MAX ((size_t)1 << 40)

struct gw_map_slot {
    uint64_t key, value;
};

#define EMPTY UINT64_MAX
#define SPARE_FULL 0 /* the key in the slot behind the table where EMPTY itself has an entry */

static size_t mix(uint64_t key)
{
    key ^= key >> 32;
    key *= UINT64_C(0x9fb21c651e98df25);
    key ^= key >> 32;
    return key;
}

/* The capacity in which `count` keys fill at most 3/4; 0 when no memory could hold it. */
static size_t capacity_for(size_t capacity, size_t count)
{
    capacity = capacity < CAPACITY_MIN ? CAPACITY_MIN : capacity;
    while (capacity / 4 * 3 < count) {
        capacity *= 2;
        if (capacity > CAPACITY_MAX)
            return 0;
    }
    return capacity;
}

/* The slot of a key other than EMPTY, or the empty one where it would go; needs capacity > 0. */
static struct gw_map_slot *map_find(const struct gw_map *map, uint64_t key)
{
    size_t mask = map->capacity - 1;
    size_t i = mix(key) & mask;
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
    struct gw_map grown = {.capacity = capacity_for(map->capacity, count), .count = map->count};
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
        size_t home = mix(map->slots[i].key) & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue; /* it would come to lie before its home */
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

struct gw_strmap_slot {
    char *key; /* NULL: empty */
    uint64_t hash, value;
};

static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return mix(hash);
}

static struct gw_strmap_slot *strmap_find(const struct gw_strmap *map, const char *key,
                                          uint64_t hash)
{
    size_t mask = map->capacity - 1;
    size_t i = hash & mask;
    while (map->slots[i].key && (map->slots[i].hash != hash || strcmp(map->slots[i].key, key) != 0))
        i = (i + 1) & mask;
    return &map->slots[i];
}

void gw_strmap_deinit(struct gw_strmap *map)
{
    for (size_t i = 0; i < map->capacity; i++)
        free(map->slots[i].key);
    free(map->slots);
    *map = (struct gw_strmap){0};
}

static int strmap_grow(struct gw_strmap *map)
{
    struct gw_strmap grown = {.capacity = capacity_for(map->capacity, map->count + 1),
                              .count = map->count};
    if (!grown.capacity)
        return GW_ENOMEM;
    grown.slots = calloc(grown.capacity, sizeof *grown.slots);
    if (!grown.slots)
        return GW_ENOMEM;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].key)
            *strmap_find(&grown, map->slots[i].key, map->slots[i].hash) = map->slots[i];
    free(map->slots);
    *map = grown;
    return 0;
}

int gw_strmap_put(struct gw_strmap *map, const char *key, uint64_t value)
{
    uint64_t hash = hash_text(key);
    struct gw_strmap_slot *slot = map->capacity ? strmap_find(map, key, hash) : NULL;
    if (slot && slot->key) {
        slot->value = value;
        return 0;
    }
    char *copy = strdup(key);
    if (!copy)
        return GW_ENOMEM;
    if (map->count + 1 > map->capacity / 4 * 3) {
        if (strmap_grow(map) < 0) {
            free(copy);
            return GW_ENOMEM;
        }
        slot = strmap_find(map, key, hash);
    }
    *slot = (struct gw_strmap_slot){copy, hash, value};
    map->count++;
    return 0;
}

bool gw_strmap_get(const struct gw_strmap *map, const char *key, uint64_t *value)
{
    if (!map->count)
        return false;
    const struct gw_strmap_slot *slot = strmap_find(map, key, hash_text(key));
    if (!slot->key)
        return false;
    if (value)
        *value = slot->value;
    return true;
}

bool gw_strmap_remove(struct gw_strmap *map, const char *key)
{
    if (!gw_strmap_get(map, key, NULL))
        return false;
    size_t mask = map->capacity - 1;
    size_t hole = (size_t)(strmap_find(map, key, hash_text(key)) - map->slots);
    free(map->slots[hole].key);
    for (size_t i = (hole + 1) & mask; map->slots[i].key; i = (i + 1) & mask) {
        size_t home = map->slots[i].hash & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue; /* as in gw_map_remove */
        map->slots[hole] = map->slots[i];
        hole = i;
    }
    map->slots[hole].key = NULL;
    map->count--;
    return true;
}

bool gw_strmap_next(const struct gw_strmap *map, size_t *at, const char **key, uint64_t *value)
{
    while (*at < map->capacity && !map->slots[*at].key)
        ++*at;
    if (*at >= map->capacity)
        return false;
    *key = map->slots[*at].key;
    if (value)
        *value = map->slots[*at].value;
    ++*at;
    return true;
}
