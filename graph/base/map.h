/* Hash maps uint64 -> uint64, with open addressing. strmap.h has those whose keys are strings.
 *
 * Zero-initialised is empty. Values are indices or ids, or a pointer cast through uintptr_t. Not
 * thread-safe. The order of iteration depends on nothing but the operations that were done: the
 * hash has no random seed, so that a core stays deterministic. */
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

/* gw_map_reserve makes room for `extra` more keys, so that as many puts allocate nothing; 0 or
 * GW_ENOMEM. */
int gw_map_reserve(struct gw_map *map, size_t extra);

/* gw_map_put sets the value of a key, new or not; 0 or GW_ENOMEM. */
int gw_map_put(struct gw_map *map, uint64_t key, uint64_t value);

/* gw_map_get tells whether the key is there, and gives its value (value may be NULL). */
bool gw_map_get(const struct gw_map *map, uint64_t key, uint64_t *value);

/* gw_map_remove removes a key; tells whether it was there. */
bool gw_map_remove(struct gw_map *map, uint64_t key);

/* gw_map_next gives the entry at or after *at and moves *at behind it; false at the end. Start with
 * at = 0; do not change the map meanwhile. */
bool gw_map_next(const struct gw_map *map, size_t *at, uint64_t *key, uint64_t *value);

#endif
