/* The listening side of the ring: it accepts connections and checks which ranks they come from. */
#ifndef GW_GPU_RING_DOOR_H
#define GW_GPU_RING_DOOR_H

#include "gpu/ring/ring_link.h"

/* A listening socket and the connections (guests) that were accepted but not yet taken. Used by one
 * thread. */
struct gw_ring_door;

/* gw_ring_door_new takes over the listener, also if it fails. It returns NULL if out of memory.
 * trust is borrowed. */
struct gw_ring_door *gw_ring_door_new(int listener, const struct gw_ring_trust *trust, int self);
void gw_ring_door_free(struct gw_ring_door *door);

/* gw_ring_door_take waits for a link with this purpose from rank `from` and returns it. If `from`
 * is -1, any rank is accepted, and `from` is set to its number. Other connections that arrive
 * meanwhile are kept for later calls. */
struct gw_ring_guest {
    enum gw_ring_purpose purpose;
    int from;
    struct gw_transport *link; /* result; belongs to the caller */
};
int gw_ring_door_take(struct gw_ring_door *door, struct gw_ring_guest *guest,
                      const struct gw_ring_wait *wait, struct gw_error *error);

#endif
