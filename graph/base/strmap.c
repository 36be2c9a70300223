/* A hash map whose keys are strings: see hash_table.h. */
#include "graph/base/strmap.h"

#include "graph/base/hash_table.h"

#include <gangway/error.h>
#include <stdlib.h>
#include <string.h>

struct gw_strmap_slot {
    char *key; /* NULL: empty slot */
    uint64_t hash, value;
};

static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return gw_hash_table_mix(hash);
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
    struct gw_strmap grown = {.capacity = gw_hash_table_capacity(map->capacity, map->count + 1),
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
            continue; /* moving the entry would put it before its home slot */
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
