/* The resources of the machine that a process may use. */
#ifndef GW_BASE_MACHINE_H
#define GW_BASE_MACHINE_H

#include <stdint.h>

/* gw_machine_memory_bytes returns how much memory this process may use: the memory of the machine,
 * or the limit of its cgroup or of a parent cgroup if that is less. 0: unknown. */
uint64_t gw_machine_memory_bytes(void);

/* gw_machine_raise_descriptors raises the limit of open descriptors to the maximum that the system
 * allows. Child processes inherit the limit. */
void gw_machine_raise_descriptors(void);

/* gw_machine_descriptors_for_values returns how many descriptors this process may use for values.
 * The others are reserved for connections and for messages in transit. The result is at least 16.
 */
uint32_t gw_machine_descriptors_for_values(void);

#endif
