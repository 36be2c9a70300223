/* The listening side of the ring: it finds out who the guests are. */
#ifndef GW_GPU_RING_DOOR_H
#define GW_GPU_RING_DOOR_H

#include "gpu/ring/ring_link.h"

/* A listening socket, and those who are about to come in. One thread. */
struct gw_ring_door;

/* gw_ring_door_new takes the listener, also when it fails; NULL: no memory. trust is borrowed. */
struct gw_ring_door *gw_ring_door_new(int listener, const struct gw_ring_trust *trust, int self);
void gw_ring_door_free(struct gw_ring_door *door);

/* gw_ring_door_take returns the next link of this purpose from `from` (-1: anybody, then *from is
 * who). It waits; others that come meanwhile are kept for later calls. */
struct gw_ring_guest {
    enum gw_ring_purpose purpose;
    int from;
    struct gw_transport *link; /* out: the caller's */
};
int gw_ring_door_take(struct gw_ring_door *door, struct gw_ring_guest *guest,
                      const struct gw_ring_wait *wait, struct gw_error *error);

#endif
