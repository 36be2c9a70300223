/* Growable arrays of one type: `GW_ARRAY(struct thing) things;`, zero-initialised is empty.
 *
 * Items move when the array grows: keep indices, not pointers. Not thread-safe. */
#ifndef GW_BASE_ARRAY_H
#define GW_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#define GW_ARRAY(type)                                                                             \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }

/* gw_array_reserve makes room for `extra` more items. The macro evaluates `extra` twice. Returns 0,
 * or GW_ENOMEM with the array unchanged. */
#define gw_array_reserve(array, extra)                                                             \
    ((array)->capacity - (array)->count >= (extra)                                                 \
         ? 0                                                                                       \
         : gw_array_reserve_bytes(                                                                 \
               (void **)&(array)->items, &(array)->capacity,                                       \
               &(struct gw_array_need){(array)->count, (extra), sizeof *(array)->items}))

/* gw_array_push appends a value. Returns 0 or GW_ENOMEM. */
#define gw_array_push(array, ...)                                                                  \
    (gw_array_reserve((array), 1) < 0 ? gw_array_no_memory()                                       \
                                      : ((array)->items[(array)->count++] = (__VA_ARGS__), 0))

/* gw_array_remove_swap removes item i and moves the last item into its place. */
#define gw_array_remove_swap(array, i)                                                             \
    ((array)->items[(i)] = (array)->items[(array)->count - 1], (void)(array)->count--)

/* gw_array_clear empties the array and keeps its memory. */
#define gw_array_clear(array) ((void)((array)->count = 0))

/* gw_array_deinit frees the items; the array is empty and usable again. */
#define gw_array_deinit(array)                                                                     \
    (gw_array_free((array)->items), (array)->items = NULL, (void)((array)->count = 0),             \
     (void)((array)->capacity = 0))

#define GW_ARRAY_EACH(array, item)                                                                 \
    for (item = (array)->items; (item) != (array)->items + (array)->count; (item)++)

struct gw_array_need {
    size_t count, extra, item_bytes;
};

int gw_array_reserve_bytes(void **items, size_t *capacity, const struct gw_array_need *need);
int gw_array_no_memory(void);
void gw_array_free(void *items);

#endif
