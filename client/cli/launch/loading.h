/* Shows the progress of an upload (--ship) in a terminal: a line that is overwritten, "sending big:
 * 1.2 of 3.0 GiB". */
#ifndef GW_CLI_LOADING_H
#define GW_CLI_LOADING_H

#include "client/cli/lib/background_thread.h"

#include <gangway/gangway.h>
#include <stddef.h>

struct gw_loading {
    struct gw_client *client;   /* borrowed; outlives this struct */
    const char *const *shipped; /* borrowed: the values of --ship, PATH or PATH:NAME */
    size_t shipped_count;
    size_t shown; /* columns of the line that is shown; used by the thread */
    struct gw_background_thread later;
};

/* gw_loading_init starts a thread that prints the progress to stderr after one second, if stderr is
 * a terminal. It prints nothing if nothing is uploaded or no thread can be started. */
void gw_loading_init(struct gw_loading *loading, struct gw_client *client,
                     const char *const *shipped, size_t shipped_count);

/* gw_loading_deinit ends the thread and removes the line. */
void gw_loading_deinit(struct gw_loading *loading);

#endif
