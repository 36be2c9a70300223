/* What daemons and the cores do if they run out of memory: they abort with a message that names the
 * source line.
 *
 * GW_MUST(x): x is the result of an allocating function and must not be negative. GW_MUST_PTR(p): p
 * must not be NULL. A failure is a failed assertion and nothing more, so the pure cores may use the
 * macros. */
#ifndef GW_BASE_MUST_H
#define GW_BASE_MUST_H

#include <assert.h>

#define GW_MUST(x) ((void)((x) >= 0 || (gw_must_fail(), 0)))
#define GW_MUST_PTR(p) ((void)((p) != NULL || (gw_must_fail(), 0)))
#define gw_must_fail() __assert_fail("out of memory", __FILE__, __LINE__, __func__)

#endif
