/* Counts allocations and can make one fail. Link with GW_ALLOC_WRAP (tests/unit/CMakeLists.txt),
 * which redirects malloc, calloc, realloc and strdup of the tree's objects to alloc.c. */
#ifndef GW_TESTS_ALLOC_H
#define GW_TESTS_ALLOC_H

#include <stdint.h>

/* gw_alloc_fail_after lets `count` allocations succeed and all further ones fail; -1: no allocation
 * fails. It sets gw_alloc_count to 0. */
void gw_alloc_fail_after(int64_t count);

/* gw_alloc_count is the number of allocations requested since then. */
uint64_t gw_alloc_count(void);

#endif
