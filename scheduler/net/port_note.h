/* Keeps the port of a cluster in its state, because workers on other hosts reconnect to the same
 * port after a restart of the scheduler. */
#ifndef GW_SCHEDULER_NET_PORT_NOTE_H
#define GW_SCHEDULER_NET_PORT_NOTE_H

#include "graph/wire/endpoint.h"

/* Result of gw_port_note_find: no usable note, a free address to listen at, or an address that
 * another process uses now. */
enum gw_port_note { GW_PORT_NONE, GW_PORT_FREE, GW_PORT_TAKEN };

/* gw_port_note_find reads where the last term of this state folder listened, if `listen` leaves the
 * port open and names the same host. It writes the address to `place`, except for GW_PORT_NONE. It
 * opens and closes sockets to check the port. */
enum gw_port_note gw_port_note_find(const char *state, const char *listen,
                                    char place[GW_ENDPOINT_TEXT_MAX]);

/* gw_port_note_store writes the address of this term for the next term. Returns GW_EIO with a text.
 */
int gw_port_note_store(const char *state, const char *address, struct gw_error *error);

#endif
