/* The machine: what a process on it may have. */
#ifndef GW_BASE_MACHINE_H
#define GW_BASE_MACHINE_H

#include <stdint.h>

/* gw_machine_memory_bytes is how much memory this process may use: the machine's, or what its
 * cgroup, or one above it, says. 0: nobody knows. */
uint64_t gw_machine_memory_bytes(void);

/* gw_machine_raise_descriptors lets this process have as many descriptors as the system gives. What
 * it starts may have as many, too. */
void gw_machine_raise_descriptors(void);

/* gw_machine_descriptors_for_values is what is left of this process' descriptors for values; the
 * others are for connections, and for messages on their way. At least 16. */
uint32_t gw_machine_descriptors_for_values(void);

#endif
