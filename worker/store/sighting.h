/* Decides when a folder that is observed periodically counts as saved. No input or output. */
#ifndef GW_STORE_SIGHTING_H
#define GW_STORE_SIGHTING_H

#include <stdbool.h>
#include <stdint.h>

struct gw_sighting {
    /* Stamps of gw_pack_stamp at the last report and the last observation; 0: empty */
    uint64_t told, seen;
    uint64_t changed_ns; /* when the present state was first observed */
    uint64_t unsaid_ns;  /* since when the state differs from the last report; 0: it does not */
    /* How long a folder may keep changing before it is reported anyway; 0: the default */
    uint64_t patience_ns;
    bool begun; /* `told` was set by the first observation */
};

/* gw_sighting_take handles an observation and returns true if the folder must be reported as saved.
 * This is so if it differs from the last report (or from the first observation) and has not changed
 * for GW_SIGHTING_STILL_NS. It is also so if it has kept changing for GW_SIGHTING_BUSY_NS. A folder
 * that never stops changing is reported after twice the time each time, up to
 * GW_SIGHTING_BUSY_NS_MAX, since each report makes another host copy the whole folder. */
bool gw_sighting_take(struct gw_sighting *sighting, uint64_t stamp, uint64_t now_ns);

#define GW_SIGHTING_STILL_NS UINT64_C(900000000)
#define GW_SIGHTING_BUSY_NS UINT64_C(10000000000)
#define GW_SIGHTING_BUSY_NS_MAX UINT64_C(80000000000)

#endif
