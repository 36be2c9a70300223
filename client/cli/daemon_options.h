/* What people say of a daemon of either kind, and handing that on: `scheduler` and `worker`. */
#ifndef GW_CLI_DAEMON_OPTIONS_H
#define GW_CLI_DAEMON_OPTIONS_H

#include "client/argv.h"
#include "client/cli/memory_options.h"

/* What was typed; begins as {.orphan_ns = UINT64_MAX}: 0 and NULL are not given. */
struct gw_daemon_options {
    const char *peers, *resources;
    uint32_t slots;
    uint64_t file_cache_bytes, carry_max_bytes, log_max_bytes;
    uint64_t orphan_ns; /* UINT64_MAX: not given */
    struct gw_memory_options memory;
    char memory_text[GW_MEMORY_LINES_TEXT_BYTES];
    const char *spill_dir;
};

/* gw_daemon_options_read checks what is said of memory. GW_EINVAL, GW_ENOENT with a text that names
 * the option. */
int gw_daemon_options_read(struct gw_daemon_options *options, struct gw_error *error);

/* gw_daemon_options_add adds the words of what was typed, and read; borrowed from `options`. */
void gw_daemon_options_add(const struct gw_daemon_options *options, struct gw_argv *argv);

#endif
