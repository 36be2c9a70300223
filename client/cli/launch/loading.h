/* Who sends large files with a task (--ship) is shown how far they are: a line of the terminal that
 * is written anew, "sending big: 1.2 of 3.0 GiB". */
#ifndef GW_CLI_LOADING_H
#define GW_CLI_LOADING_H

#include "client/cli/lib/background_thread.h"

#include <gangway/gangway.h>
#include <stddef.h>

struct gw_loading {
    struct gw_client *client;   /* borrowed, longer than it lives */
    const char *const *shipped; /* borrowed: what was typed, PATH or PATH:NAME */
    size_t shipped_count;
    size_t shown; /* columns of the line that stands there, of the thread */
    struct gw_background_thread later;
};

/* gw_loading_init has a thread of its own write that line to stderr, where that is a terminal, from
 * a second on. Where nothing is shipped, or no thread can be had, nothing is shown. */
void gw_loading_init(struct gw_loading *loading, struct gw_client *client,
                     const char *const *shipped, size_t shipped_count);

/* gw_loading_deinit ends that, and leaves nothing of the line. */
void gw_loading_deinit(struct gw_loading *loading);

#endif
