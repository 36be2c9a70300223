/* Who waits in front of a terminal is told why: an attached job that has not begun after a while.
 */
#ifndef GW_CLI_PATIENCE_H
#define GW_CLI_PATIENCE_H

#include "client/cli/lib/background_thread.h"

#include <gangway/gangway.h>

struct gw_patience {
    struct gw_client *client; /* borrowed, longer than it lives */
    uint64_t job;
    bool raw; /* the terminal wants a carriage return before a newline */
    struct gw_background_thread later;
};

/* gw_patience_init has a thread of its own look at a job once, in two seconds: where nothing of it
 * has begun, it says on stderr what it waits for, as `gangway explain` does. Where no thread can be
 * had nothing is said. */
void gw_patience_init(struct gw_patience *patience, struct gw_client *client, uint64_t job,
                      bool raw);

/* gw_patience_deinit ends that; before the client is closed. */
void gw_patience_deinit(struct gw_patience *patience);

#endif
