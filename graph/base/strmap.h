/* Hash maps from strings to uint64, with open addressing. Keys are copied. Other properties are
 * those of gw_map. */
#ifndef GW_BASE_STRMAP_H
#define GW_BASE_STRMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gw_strmap {
    struct gw_strmap_slot *slots;
    size_t count, capacity;
};

/* The gw_strmap_* functions do the same as the gw_map_* functions. */
void gw_strmap_deinit(struct gw_strmap *map);
int gw_strmap_put(struct gw_strmap *map, const char *key, uint64_t value);
bool gw_strmap_get(const struct gw_strmap *map, const char *key, uint64_t *value);
bool gw_strmap_remove(struct gw_strmap *map, const char *key);
bool gw_strmap_next(const struct gw_strmap *map, size_t *at, const char **key, uint64_t *value);

#endif
