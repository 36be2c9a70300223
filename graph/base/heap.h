/* Binary heaps in arrays. The least item is the first.
 *
 * GW_HEAP(name, type, is_less, set) defines three functions for an array `type *items`:
 * name_up(items, at) restores the order after the item at `at` became less; name_down(items, count,
 * at) restores it after that item became greater; name_remove(items, count, at) removes that item
 * and decrements *count.
 *
 * is_less(a, b) compares two items. set(items, at, item) stores an item at index `at`, and may
 * store the index in the item. Not thread-safe. */
#ifndef GW_BASE_HEAP_H
#define GW_BASE_HEAP_H

#include <stddef.h>

#define GW_HEAP(name, type, is_less, set)                                                          \
    static void name##_up(type *items, size_t at)                                                  \
    {                                                                                              \
        type item = items[at];                                                                     \
        for (; at > 0 && is_less(item, items[(at - 1) / 2]); at = (at - 1) / 2)                    \
            set(items, at, items[(at - 1) / 2]);                                                   \
        set(items, at, item);                                                                      \
    }                                                                                              \
                                                                                                   \
    static void name##_down(type *items, size_t count, size_t at)                                  \
    {                                                                                              \
        type item = items[at];                                                                     \
        for (size_t child; (child = at * 2 + 1) < count; at = child) {                             \
            if (child + 1 < count && is_less(items[child + 1], items[child]))                      \
                child++;                                                                           \
            if (!is_less(items[child], item))                                                      \
                break;                                                                             \
            set(items, at, items[child]);                                                          \
        }                                                                                          \
        set(items, at, item);                                                                      \
    }                                                                                              \
                                                                                                   \
    static void name##_remove(type *items, size_t *count, size_t at)                               \
    {                                                                                              \
        items[at] = items[--*count];                                                               \
        if (at < *count) {                                                                         \
            name##_up(items, at);                                                                  \
            name##_down(items, *count, at);                                                        \
        }                                                                                          \
    }

#endif
