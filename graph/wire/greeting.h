/* Greetings: connections that have not sent their hello yet, in the order of their arrival.
 *
 * Their number is limited, so that strangers who connect and send nothing, or only part of a
 * handshake, cannot use up descriptors and memory. If the limit is exceeded, the oldest connection
 * is closed. A normal peer sends its hello within a few turns of the loop and leaves the list long
 * before. */
#ifndef GW_WIRE_GREETING_H
#define GW_WIRE_GREETING_H

#include <stdbool.h>
#include <stdint.h>

enum {
    GW_GREETINGS_MAX = 256,
    GW_GREETING_MS_MAX = 10000, /* time from connecting to a complete hello */
};

/* Embedded in a connection; `arg` is the connection. All zero: not in a list. */
struct gw_greeting {
    struct gw_greeting *prev, *next;
    void *arg;
    bool listed;
};

/* The list. All zero: empty. */
struct gw_greetings {
    struct gw_greeting *first, *last;
    uint32_t count;
    bool crowded; /* the list was full and is not yet half empty */
};

/* gw_greetings_add appends a connection. If there are too many, it removes the oldest one from the
 * list and returns it: the caller must close it. Otherwise it returns NULL. */
struct gw_greeting *gw_greetings_add(struct gw_greetings *greetings, struct gw_greeting *greeting,
                                     void *arg);

/* gw_greetings_remove removes a connection from the list. If it is not in the list, nothing
 * happens. */
void gw_greetings_remove(struct gw_greetings *greetings, struct gw_greeting *greeting);

#endif
