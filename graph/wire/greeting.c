/* The list of connections that have not sent their hello. `count` connections are in the list, at
 * most GW_GREETINGS_MAX. If there are too many, this is logged once, and again only after their
 * number has fallen to half. */
#include "graph/wire/greeting.h"

#include "graph/base/log.h"

#include <stddef.h>

void gw_greetings_remove(struct gw_greetings *greetings, struct gw_greeting *greeting)
{
    if (!greeting->listed)
        return;
    if (greeting->prev)
        greeting->prev->next = greeting->next;
    else
        greetings->first = greeting->next;
    if (greeting->next)
        greeting->next->prev = greeting->prev;
    else
        greetings->last = greeting->prev;
    greeting->prev = greeting->next = NULL;
    greeting->listed = false;
    if (--greetings->count < GW_GREETINGS_MAX / 2)
        greetings->crowded = false;
}

struct gw_greeting *gw_greetings_add(struct gw_greetings *greetings, struct gw_greeting *greeting,
                                     void *arg)
{
    struct gw_greeting *oldest = NULL;
    if (greetings->count == GW_GREETINGS_MAX) {
        if (!greetings->crowded)
            gw_log_warn("%u connections have not sent a hello: the oldest one is closed for each "
                        "new one",
                        greetings->count);
        oldest = greetings->first;
        gw_greetings_remove(greetings, oldest);
        greetings->crowded = true;
    }
    *greeting = (struct gw_greeting){.prev = greetings->last, .arg = arg, .listed = true};
    if (greetings->last)
        greetings->last->next = greeting;
    else
        greetings->first = greeting;
    greetings->last = greeting;
    greetings->count++;
    return oldest;
}
