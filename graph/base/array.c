/* Growing arrays. The capacity doubles, so that a push takes O(1) time on average.
 *
 * The caller's items pointer has a type of its own. This file reads and writes the pointer by
 * memcpy, because accessing it as a `void *` would break C's aliasing rules. */
#include "graph/base/array.h"

#include <gangway/error.h>
#include <stdlib.h>
#include <string.h>

/* The first allocation has room for 8 items, or fewer if 8 items need more than FIRST_BYTES. Arrays
 * of large items often have only one item. */
enum { ITEMS_MIN = 8, FIRST_BYTES = 256 };

static size_t items_min(size_t item_bytes)
{
    size_t fit = item_bytes ? FIRST_BYTES / item_bytes : ITEMS_MIN;
    return fit < 1 ? 1 : fit < ITEMS_MIN ? fit : ITEMS_MIN;
}

int gw_array_reserve_bytes(void **items, size_t *capacity, const struct gw_array_need *need)
{
    size_t wanted;
    if (__builtin_add_overflow(need->count, need->extra, &wanted))
        return GW_ENOMEM;
    if (wanted <= *capacity)
        return 0;

    size_t grown = *capacity ? *capacity : items_min(need->item_bytes);
    while (grown < wanted)
        if (__builtin_mul_overflow(grown, (size_t)2, &grown))
            return GW_ENOMEM;

    size_t bytes;
    if (__builtin_mul_overflow(grown, need->item_bytes, &bytes) || bytes > PTRDIFF_MAX)
        return GW_ENOMEM;
    void *old;
    memcpy(&old, items, sizeof old);
    void *moved = realloc(old, bytes);
    if (!moved)
        return GW_ENOMEM;
    memcpy(items, &moved, sizeof moved);
    *capacity = grown;
    return 0;
}

int gw_array_no_memory(void)
{
    return GW_ENOMEM;
}

void gw_array_free(void *items)
{
    free(items);
}
