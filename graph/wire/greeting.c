/* The list of those who have not said hello. Always: `count` are on it, GW_GREETINGS_MAX at most.
 * The log says once that there are too many, and again only after they were half as many. */
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
            gw_log_warn("%u connections have not said who they are: the oldest is closed for each "
                        "that comes",
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
