/* What daemons and the cores do when out of memory: they end, with a line that says where.
 *
 * GW_MUST(x): x (an allocation's result) must not be negative; GW_MUST_PTR(p): p must not be NULL.
 * A failed assertion and nothing else, so that the pure cores may use it. */
#ifndef GW_BASE_MUST_H
#define GW_BASE_MUST_H

#include <assert.h>

#define GW_MUST(x) ((void)((x) >= 0 || (gw_must_fail(), 0)))
#define GW_MUST_PTR(p) ((void)((p) != NULL || (gw_must_fail(), 0)))
#define gw_must_fail() __assert_fail("out of memory", __FILE__, __LINE__, __func__)

#endif
