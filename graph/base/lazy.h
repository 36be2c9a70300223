/* Large memory areas whose pages are allocated when they are first written. Parts can be given back
 * to the system. */
#ifndef GW_BASE_LAZY_H
#define GW_BASE_LAZY_H

#include <stddef.h>

/* gw_lazy_alloc returns `bytes` bytes of zeroed memory, aligned to a page. Only pages that are
 * written use memory, so `bytes` may exceed the memory of the machine. Returns NULL if the address
 * space is exhausted. gw_lazy_free frees the memory; `bytes` must be the same size. It accepts
 * NULL. */
void *gw_lazy_alloc(size_t bytes);
void gw_lazy_free(void *data, size_t bytes);

/* gw_lazy_forget gives the pages of a range back to the system. The range then reads as zero and
 * may be written again. data and bytes must be multiples of 4096. */
void gw_lazy_forget(void *data, size_t bytes);

#endif
