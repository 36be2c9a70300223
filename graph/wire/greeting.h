/* Greetings: connections that have not said who they are yet, in the order in which they came.
 *
 * There is a most of them, so that strangers who connect and say nothing, or half a handshake,
 * cannot use up descriptors and memory: the oldest goes when one more comes. Whoever is served says
 * hello within a few turns of the loop, and is long off the list by then. */
#ifndef GW_WIRE_GREETING_H
#define GW_WIRE_GREETING_H

#include <stdbool.h>
#include <stdint.h>

enum {
    GW_GREETINGS_MAX = 256,
    GW_GREETING_MS_MAX = 10000, /* from connecting to a whole hello */
};

/* Embedded in a connection; `arg` is the connection. Zero: on no list. */
struct gw_greeting {
    struct gw_greeting *prev, *next;
    void *arg;
    bool listed;
};

/* Zero-initialised. */
struct gw_greetings {
    struct gw_greeting *first, *last;
    uint32_t count;
    bool crowded; /* it was full, and is not half empty yet */
};

/* gw_greetings_add puts a connection behind the others. What it gives is the oldest where there are
 * too many, off the list: the caller closes it. NULL: there is room. */
struct gw_greeting *gw_greetings_add(struct gw_greetings *greetings, struct gw_greeting *greeting,
                                     void *arg);

/* gw_greetings_remove takes one off the list; nothing where it is on none. */
void gw_greetings_remove(struct gw_greetings *greetings, struct gw_greeting *greeting);

#endif
