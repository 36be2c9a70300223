/* Sightings: when a folder that is looked at from time to time counts as saved. Pure. */
#ifndef GW_STORE_SIGHTING_H
#define GW_STORE_SIGHTING_H

#include <stdbool.h>
#include <stdint.h>

struct gw_sighting {
    uint64_t told, seen;  /* stamps, as of gw_bundle_stamp; 0: empty */
    uint64_t changed_ns;  /* when it was first seen to be as it is */
    uint64_t unsaid_ns;   /* since when it is not as it was told; 0: it is */
    uint64_t patience_ns; /* for how long a folder may go on changing before it is told all the
                             same; 0: it has not been that long yet */
    bool begun;           /* `told` is as it was at the first look */
};

/* gw_sighting_take takes a look: whether the folder is to be told of as saved. It is when it is not
 * as it was at the first look, or when it was told last, and either has been still for
 * GW_SIGHTING_STILL_NS, or has never been that for GW_SIGHTING_BUSY_NS; one that goes on so is
 * told of twice as late each time, up to GW_SIGHTING_BUSY_NS_MAX, since all of it is copied then.
 */
bool gw_sighting_take(struct gw_sighting *sighting, uint64_t stamp, uint64_t now_ns);

#define GW_SIGHTING_STILL_NS UINT64_C(900000000)
#define GW_SIGHTING_BUSY_NS UINT64_C(10000000000)
#define GW_SIGHTING_BUSY_NS_MAX UINT64_C(80000000000)

#endif
