/* What people say of a scheduler: `up` and `scheduler`. */
#ifndef GW_CLI_SCHEDULER_OPTIONS_H
#define GW_CLI_SCHEDULER_OPTIONS_H

#include "client/cli/lib/options.h"

enum { GW_SCHEDULER_OPTIONS = 7 }; /* options */

/* What was typed; begins as {0}: not given. */
struct gw_scheduler_options {
    const char *listen, *tokens, *state;
    bool accept_loss;
    uint64_t idle_stop_ns, pure_keep_bytes, scatter_memory_bytes;
    struct gw_option rows[GW_SCHEDULER_OPTIONS + 1];
};

/* gw_scheduler_options_table gives the rows of an option table that fill it; they lie in it. */
struct gw_option *gw_scheduler_options_table(struct gw_scheduler_options *options);

/* gw_scheduler_options_idle_stop_s is --idle-stop as the daemon takes it: no part of a second. */
uint64_t gw_scheduler_options_idle_stop_s(const struct gw_scheduler_options *options);

#endif
