/* Large blocks of memory. */
#ifndef GW_BASE_LARGE_H
#define GW_BASE_LARGE_H

#include <stddef.h>

enum { GW_LARGE_BYTES = 4 << 20 };

/* gw_large_hint asks the kernel to back a block that is about to be filled with large pages, where
 * it has GW_LARGE_BYTES or more; else it does nothing. A million tasks touch hundreds of megabytes
 * for the first time: a fault each 4 KiB was a sixth of the scheduler's time in a bag. */
void gw_large_hint(void *data, size_t bytes);

#endif
