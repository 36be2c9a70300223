/* CPUs that a process is bound to, limited to those that this process may use. */
#ifndef GW_SUPERVISOR_CPUS_H
#define GW_SUPERVISOR_CPUS_H

#include <sched.h>
#include <stdbool.h>

enum { GW_CPUS_MAX = 4096 };

/* In the format of sched_setaffinity; the size is sizeof sets. */
struct gw_cpus {
    cpu_set_t sets[GW_CPUS_MAX / CPU_SETSIZE];
};

/* gw_cpus_read parses a list ("0-3,8") and keeps the CPUs that this thread may use. Returns false
 * if the process need not be bound: the list is empty or malformed, or contains all or none of the
 * usable CPUs. */
bool gw_cpus_read(struct gw_cpus *cpus, const char *list);

#endif
