/* Options that the scheduler and the worker have in common, with the same names and units. */
#include "client/cli/hosts/daemon_options.h"

#include "graph/base/clock.h"

#include <assert.h>
#include <string.h>

struct gw_option *gw_daemon_options_table(struct gw_daemon_options *options)
{
    const struct gw_option rows[] = {
        GW_OPTION_TABLE(gw_memory_options_table(&options->memory)),
        {"file-cache", 0, GW_OPTION_CAP, &options->file_cache_bytes, "SIZE",
         "size of the cache of shipped files (default: 4G):\n"
         "the scheduler has those of all jobs, a worker\n"
         "those that it used last"},
        {"keep-files", 0, GW_OPTION_ROOM, &options->retained_bytes_max, "SIZE",
         "size of the files that each worker stores for\n"
         "`gangway get`, left by tasks with --ship (default:\n"
         "4G; 0: store nothing)"},
        {"checkpoint-max", 0, GW_OPTION_CAP, &options->transfer_bytes_max, "SIZE",
         "checkpoints up to this size are copied to other\n"
         "hosts (default: 8G)"},
        {"log-max", 0, GW_OPTION_CAP, &options->log_max_bytes, "SIZE",
         "size at which a log (stderr, if it is a file\n"
         "opened for appending) begins anew; the previous\n"
         "log is kept as .1 (default: 64M)"},
        {"orphan-timeout", 0, GW_OPTION_DELAY, &options->orphan_ns, "TIME",
         "if the scheduler dies, running tasks go on for\n"
         "this long, until its next start (default: 10m; 0:\n"
         "they end too)"},
        {"trust-users", 0, GW_OPTION_FLAG, &options->trust_users, NULL,
         "a worker runs tasks of all users, as its own Unix\n"
         "user; without this, only tasks of the user to\n"
         "whom it belongs (SECURITY.md)"},
        {0},
    };
    static_assert(sizeof rows == sizeof options->rows, "all rows");
    memcpy(options->rows, rows, sizeof rows);
    return options->rows;
}

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
    if (options->retained_bytes_max)
        gw_argv_add_number(argv, "--keep-files", options->retained_bytes_max);
    if (options->transfer_bytes_max)
        gw_argv_add_number(argv, "--checkpoint-max", options->transfer_bytes_max);
    if (options->log_max_bytes)
        gw_argv_add_number(argv, "--log-max", options->log_max_bytes);
    if (options->trust_users)
        gw_argv_add(argv, "--trust-users");
    if (options->orphan_ns != UINT64_MAX)
        gw_argv_add_number(argv, "--orphan-timeout", options->orphan_ns / GW_NS_PER_MS);
}
