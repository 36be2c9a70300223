/* Options of a daemon that `up`, `scheduler` and `worker` share, with the same names and help
 * texts, and passing them on to a daemon's command line. */
#ifndef GW_CLI_DAEMON_OPTIONS_H
#define GW_CLI_DAEMON_OPTIONS_H

#include "client/cli/hosts/memory_options.h"
#include "client/deploy/argv.h"

enum {
    GW_DAEMON_OPTIONS = 7
}; /* rows: the options here, and one row for the table of memory options */

/* The values of the options. Initialise it with {.orphan_ns = UINT64_MAX}. 0 and NULL mean that an
 * option was not given. */
struct gw_daemon_options {
    const char *peers, *resources; /* each command defines its own rows for these and for `slots` */
    uint32_t slots;
    uint64_t file_cache_bytes, retained_bytes_max, transfer_bytes_max, log_max_bytes;
    bool trust_users;
    uint64_t orphan_ns; /* UINT64_MAX: not given */
    struct gw_memory_options memory;
    char memory_text[GW_MEMORY_LINES_TEXT_BYTES];
    const char *spill_dir;
    struct gw_option rows[GW_DAEMON_OPTIONS + 1];
};

/* gw_daemon_options_table returns rows of an option table that fill in `options`. The rows are
 * stored in `options`. */
struct gw_option *gw_daemon_options_table(struct gw_daemon_options *options);

/* gw_daemon_options_read checks the memory options. Errors: GW_EINVAL, GW_ENOENT; the text names
 * the option. */
int gw_daemon_options_read(struct gw_daemon_options *options, struct gw_error *error);

/* gw_daemon_options_add appends the options that were given to a command line. Call
 * gw_daemon_options_read before. The words are borrowed from `options`. */
void gw_daemon_options_add(const struct gw_daemon_options *options, struct gw_argv *argv);

#endif
