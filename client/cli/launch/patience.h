/* Tells the user why an attached job does not start. */
#ifndef GW_CLI_PATIENCE_H
#define GW_CLI_PATIENCE_H

#include "client/cli/lib/background_thread.h"

#include <gangway/gangway.h>

struct gw_patience {
    struct gw_client *client; /* borrowed; outlives this struct */
    uint64_t job;
    bool raw; /* the terminal is in raw mode: a newline needs a carriage return */
    struct gw_background_thread later;
};

/* gw_patience_init starts a thread that asks about the job once, after two seconds. If no task of
 * the job has started, it prints on stderr why the job waits, as `gangway explain` does. It prints
 * nothing if no thread can be started. */
void gw_patience_init(struct gw_patience *patience, struct gw_client *client, uint64_t job,
                      bool raw);

/* gw_patience_deinit ends the thread. Call it before the client is closed. */
void gw_patience_deinit(struct gw_patience *patience);

#endif
