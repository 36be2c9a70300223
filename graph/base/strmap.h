/* Hash maps string -> uint64, with open addressing. Keys are copied. As gw_map otherwise. */
#ifndef GW_BASE_STRMAP_H
#define GW_BASE_STRMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gw_strmap {
    struct gw_strmap_slot *slots;
    size_t count, capacity;
};

/* gw_strmap_* do what gw_map_* do. */
void gw_strmap_deinit(struct gw_strmap *map);
int gw_strmap_put(struct gw_strmap *map, const char *key, uint64_t value);
bool gw_strmap_get(const struct gw_strmap *map, const char *key, uint64_t *value);
bool gw_strmap_remove(struct gw_strmap *map, const char *key);
bool gw_strmap_next(const struct gw_strmap *map, size_t *at, const char **key, uint64_t *value);

#endif
