/* See daemon_options.h. What both daemons know by the same name and in the same unit stands here;
 * what one of them says otherwise is in scheduler.c and worker_daemon.c. */
#include "client/cli/daemon_options.h"

#include "graph/base/clock.h"

int gw_daemon_options_read(struct gw_daemon_options *options, struct gw_error *error)
{
    struct gw_memory_lines lines;
    int rc = gw_memory_options_read(&options->memory, &lines, &options->spill_dir, error);
    if (rc == 0)
        gw_memory_lines_format(&lines, options->memory_text);
    return rc;
}

void gw_daemon_options_add(const struct gw_daemon_options *options, struct gw_argv *argv)
{
    gw_argv_add_text(argv, "--memory", options->memory_text);
    gw_argv_add_text(argv, "--spill-dir", options->spill_dir);
    gw_argv_add_text(argv, "--peers", options->peers);
    gw_argv_add_text(argv, "--resources", options->resources);
    if (options->slots)
        gw_argv_add_number(argv, "--slots", options->slots);
    if (options->file_cache_bytes)
        gw_argv_add_number(argv, "--file-cache", options->file_cache_bytes);
    if (options->carry_max_bytes)
        gw_argv_add_number(argv, "--carry-max", options->carry_max_bytes);
    if (options->log_max_bytes)
        gw_argv_add_number(argv, "--log-max", options->log_max_bytes);
    if (options->orphan_ns != UINT64_MAX)
        gw_argv_add_number(argv, "--orphan-timeout", options->orphan_ns / GW_NS_PER_MS);
}
