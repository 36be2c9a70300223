/* Large memory that costs nothing until it is written, and can be given back in parts. */
#ifndef GW_BASE_LAZY_H
#define GW_BASE_LAZY_H

#include <stddef.h>

/* gw_lazy_alloc gives `bytes` of zeroed memory, aligned to a page; only pages that are written take
 * memory, also where `bytes` is more than the machine has. NULL where addresses have run out.
 * gw_lazy_free frees it whole (the same size); accepts NULL. */
void *gw_lazy_alloc(size_t bytes);
void gw_lazy_free(void *data, size_t bytes);

/* gw_lazy_forget gives back the whole pages of a stretch: it reads as zero afterwards, and may be
 * written again. data and bytes must be multiples of 4096. */
void gw_lazy_forget(void *data, size_t bytes);

#endif
