/* CPUs that a process is bound to.
 *
 * Invariant: they are a subset of those that this process may use (in a container, or under
 * taskset). A process always has at least one CPU, even if none of them is near its GPUs. */
#include "worker/supervisor/cpus.h"

#include <stdlib.h>
#include <string.h>

/* Parses "3" or "0-3". Returns its end, or NULL if it is malformed. */
static const char *read_part(const char *text, unsigned long *first, unsigned long *last)
{
    char *end;
    if (*text < '0' || *text > '9')
        return NULL;
    *first = *last = strtoul(text, &end, 10);
    if (*end == '-') {
        const char *second = end + 1;
        if (*second < '0' || *second > '9')
            return NULL;
        *last = strtoul(second, &end, 10);
    }
    return *first <= *last && *last < GW_CPUS_MAX ? end : NULL;
}

static bool read_list(struct gw_cpus *cpus, const char *list)
{
    memset(cpus, 0, sizeof *cpus);
    while (*list) {
        unsigned long first, last;
        list = read_part(list, &first, &last);
        if (!list || (*list != '\0' && *list != ','))
            return false;
        for (; first <= last; first++)
            CPU_SET_S(first, sizeof cpus->sets, cpus->sets);
        list += *list == ',';
    }
    return true;
}

bool gw_cpus_read(struct gw_cpus *cpus, const char *list)
{
    struct gw_cpus ours = {0};
    if (!*list || !read_list(cpus, list) || sched_getaffinity(0, sizeof ours.sets, ours.sets) < 0)
        return false;
    CPU_AND_S(sizeof cpus->sets, cpus->sets, cpus->sets, ours.sets);
    return CPU_COUNT_S(sizeof cpus->sets, cpus->sets) > 0 &&
           !CPU_EQUAL_S(sizeof cpus->sets, cpus->sets, ours.sets);
}
