/* Hash maps from uint64 to uint64, with open addressing. strmap.h has maps with strings as keys.
 *
 * A zero-initialised map is empty. Values are indices, ids, or pointers cast through uintptr_t. Not
 * thread-safe. The order of iteration depends only on the operations on the map: the hash has no
 * random seed, so that the scheduler core and the worker core are deterministic. */
#ifndef GW_BASE_MAP_H
#define GW_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gw_map {
    struct gw_map_slot *slots;
    size_t count, capacity;
};

/* gw_map_deinit frees the slots; the map is empty and usable again. */
void gw_map_deinit(struct gw_map *map);

/* gw_map_reserve makes room for `extra` more keys, so that adding these keys needs no allocation.
 * Returns 0 or GW_ENOMEM. */
int gw_map_reserve(struct gw_map *map, size_t extra);

/* gw_map_put sets the value of a key, which may be new. Returns 0 or GW_ENOMEM. */
int gw_map_put(struct gw_map *map, uint64_t key, uint64_t value);

/* gw_map_get returns true if the map has the key, and writes its value. value may be NULL. */
bool gw_map_get(const struct gw_map *map, uint64_t key, uint64_t *value);

/* gw_map_remove removes a key. Returns true if the map had the key. */
bool gw_map_remove(struct gw_map *map, uint64_t key);

/* gw_map_next returns the entry at or after *at and moves *at past it. Returns false at the end.
 * Start with *at = 0. Do not change the map during the iteration. */
bool gw_map_next(const struct gw_map *map, size_t *at, uint64_t *key, uint64_t *value);

#endif
