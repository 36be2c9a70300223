/* Code that the hash maps share (map.c, strmap.c): linear probing in a table of slots. A removal
 * moves later entries back, so there are no tombstones and a look-up ends at the first empty slot.
 * The capacity is 0 or a power of two. At most 3/4 of the slots are used. */
#ifndef GW_BASE_HASH_TABLE_H
#define GW_BASE_HASH_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { GW_HASH_TABLE_CAPACITY_MIN = 16 };
#define GW_HASH_TABLE_CAPACITY_MAX ((size_t)1 << 40)

/* gw_hash_table_mix hashes a key. */
static inline size_t gw_hash_table_mix(uint64_t key)
{
    key ^= key >> 32;
    key *= UINT64_C(0x9fb21c651e98df25);
    key ^= key >> 32;
    return key;
}

/* gw_hash_table_capacity returns a capacity in which `count` keys fill at most 3/4 of the slots.
 * Returns 0 if that capacity exceeds the maximum. */
static inline size_t gw_hash_table_capacity(size_t capacity, size_t count)
{
    capacity = capacity < GW_HASH_TABLE_CAPACITY_MIN ? GW_HASH_TABLE_CAPACITY_MIN : capacity;
    while (capacity / 4 * 3 < count) {
        capacity *= 2;
        if (capacity > GW_HASH_TABLE_CAPACITY_MAX)
            return 0;
    }
    return capacity;
}

#endif
