/* Whether the kernel has been killing for memory. */
#ifndef GW_GUARDIAN_OOM_H
#define GW_GUARDIAN_OOM_H

#include <stdint.h>

/* gw_oom_kills counts the kernel's kills for memory on this host since it started; 0 where it does
 * not say. */
uint64_t gw_oom_kills(void);

#endif
