/* What people say of a daemon, by the same names and in the same words: `up`, `scheduler` and
 * `worker`; and handing it on to one. */
#ifndef GW_CLI_DAEMON_OPTIONS_H
#define GW_CLI_DAEMON_OPTIONS_H

#include "client/cli/hosts/memory_options.h"
#include "client/deploy/argv.h"

enum { GW_DAEMON_OPTIONS = 6 }; /* rows: options, and one for those of memory */

/* What was typed; begins as {.orphan_ns = UINT64_MAX}: 0 and NULL are not given. */
struct gw_daemon_options {
    const char *peers, *resources; /* these and slots have rows of their own in each command */
    uint32_t slots;
    uint64_t file_cache_bytes, keep_files_bytes, transfer_bytes_max, log_max_bytes;
    uint64_t orphan_ns; /* UINT64_MAX: not given */
    struct gw_memory_options memory;
    char memory_text[GW_MEMORY_LINES_TEXT_BYTES];
    const char *spill_dir;
    struct gw_option rows[GW_DAEMON_OPTIONS + 1];
};

/* gw_daemon_options_table gives the rows of an option table that fill it; they lie in it. */
struct gw_option *gw_daemon_options_table(struct gw_daemon_options *options);

/* gw_daemon_options_read checks what is said of memory. GW_EINVAL, GW_ENOENT with a text that names
 * the option. */
int gw_daemon_options_read(struct gw_daemon_options *options, struct gw_error *error);

/* gw_daemon_options_add adds the words of what was typed, and read; borrowed from `options`. */
void gw_daemon_options_add(const struct gw_daemon_options *options, struct gw_argv *argv);

#endif
