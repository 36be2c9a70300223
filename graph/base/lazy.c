/* Lazily allocated memory: anonymous mappings without reserved swap space. */
#include "graph/base/lazy.h"

#include <assert.h>
#include <stdint.h>
#include <sys/mman.h>

void *gw_lazy_alloc(size_t bytes)
{
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        return NULL;
    /* With huge pages, one row would allocate a whole huge page. */
    (void)madvise(data, bytes, MADV_NOHUGEPAGE);
    return data;
}

void gw_lazy_free(void *data, size_t bytes)
{
    if (data)
        (void)munmap(data, bytes);
}

void gw_lazy_forget(void *data, size_t bytes)
{
    assert(((uintptr_t)data | bytes) % 4096 == 0);
    int rc = madvise(data, bytes, MADV_DONTNEED);
    assert(rc == 0);
    (void)rc;
}
