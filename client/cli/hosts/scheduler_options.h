/* Options of the scheduler that `up` and `scheduler` share. */
#ifndef GW_CLI_SCHEDULER_OPTIONS_H
#define GW_CLI_SCHEDULER_OPTIONS_H

#include "client/cli/lib/options.h"

enum { GW_SCHEDULER_OPTIONS = 12 }; /* number of options */

/* The values of the options. Initialise it with {0}, which means that no option was given. */
struct gw_scheduler_options {
    const char *listen, *tokens, *state, *accounting, *audit;
    bool accept_loss;
    uint32_t history_jobs;
    uint64_t accounting_retention_ns, idle_stop_ns, pure_bytes_max, scatter_memory_bytes;
    uint64_t audit_bytes_max;
    struct gw_option rows[GW_SCHEDULER_OPTIONS + 1];
};

/* gw_scheduler_options_table returns rows of an option table that fill in `options`. The rows are
 * stored in `options`. */
struct gw_option *gw_scheduler_options_table(struct gw_scheduler_options *options);

/* gw_scheduler_options_idle_stop_s returns --idle-stop in whole seconds, rounded up, as the daemon
 * expects it. */
uint64_t gw_scheduler_options_idle_stop_s(const struct gw_scheduler_options *options);

/* gw_scheduler_options_retention_ns returns --accounting-retention in nanoseconds, as the daemon
 * expects it. 0: the default; UINT64_MAX: no limit. */
uint64_t gw_scheduler_options_retention_ns(const struct gw_scheduler_options *options);

#endif
