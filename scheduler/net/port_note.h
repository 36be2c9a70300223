/* The port that a cluster took, kept in its state: workers on other hosts look for it there. */
#ifndef GW_SCHEDULER_NET_PORT_NOTE_H
#define GW_SCHEDULER_NET_PORT_NOTE_H

#include "graph/wire/endpoint.h"

/* What gw_port_note_find finds: nothing to go by, a place to listen at, or that somebody else has
 * it now. */
enum gw_port_note { GW_PORT_NONE, GW_PORT_FREE, GW_PORT_TAKEN };

/* gw_port_note_find gives in `place` (not where it is GW_PORT_NONE) where the last life of this
 * state (a folder) listened, if `listen` leaves the port open and names the same host. Opens and
 * closes sockets. */
enum gw_port_note gw_port_note_find(const char *state, const char *listen,
                                    char place[GW_ENDPOINT_TEXT_MAX]);

/* gw_port_note_keep notes where this life listens, for the next one. GW_EIO with text. */
int gw_port_note_keep(const char *state, const char *address, struct gw_error *error);

#endif
