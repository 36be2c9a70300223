/* Large blocks: a hint that may be ignored, so there is nothing to report. */
#include "graph/base/large.h"

#include <stdint.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096 };

void gw_large_hint(void *data, size_t bytes)
{
    if (!data || bytes < GW_LARGE_BYTES)
        return;
    size_t skipped = -(uintptr_t)data % PAGE_BYTES; /* malloc's blocks begin behind a header */
    (void)madvise((char *)data + skipped, (bytes - skipped) / PAGE_BYTES * PAGE_BYTES,
                  MADV_HUGEPAGE);
}
