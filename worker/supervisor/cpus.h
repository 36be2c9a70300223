/* CPUs that a process is bound to: a list, read, as far as we may use them ourselves. */
#ifndef GW_SUPERVISOR_CPUS_H
#define GW_SUPERVISOR_CPUS_H

#include <sched.h>
#include <stdbool.h>

enum { GW_CPUS_MAX = 4096 };

/* As sched_setaffinity takes it, with sizeof sets. */
struct gw_cpus {
    cpu_set_t sets[GW_CPUS_MAX / CPU_SETSIZE];
};

/* gw_cpus_read reads a list ("0-3,8") and keeps what this thread may run on. False: there is
 * nothing to bind to, since the list is empty or not one, or all or none of what we may use is in
 * it. */
bool gw_cpus_read(struct gw_cpus *cpus, const char *list);

#endif
