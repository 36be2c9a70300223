/* Options of the scheduler that `up` and `scheduler` share. */
#include "client/cli/hosts/scheduler_options.h"

#include "client/cli/lib/units.h"
#include "graph/base/clock.h"

#include <assert.h>
#include <string.h>

struct gw_option *gw_scheduler_options_table(struct gw_scheduler_options *options)
{
    const struct gw_option rows[] = {
        {"listen", 0, GW_OPTION_TEXT, &options->listen, "HOST:PORT",
         "address at which workers and clients on other\n"
         "machines connect, by TLS and with tokens\n"
         "(`gangway token create`); without a port a free\n"
         "one is used and printed"},
        {"tokens", 0, GW_OPTION_TEXT, &options->tokens, "FILE",
         "the token file (default:\n~/.config/gangway/tokens)"},
        {"state", 0, GW_OPTION_TEXT, &options->state, "DIR",
         "folder on a local disk that stores detached jobs\n"
         "for the scheduler's next start (default: state in\n"
         "~/.local/state/gangway/HOSTNAME)"},
        {"accept-loss", 0, GW_OPTION_FLAG, &options->accept_loss, NULL,
         "if the stored state is damaged, rename it (the\n"
         "log says how), and start without its jobs"},
        {"idle-stop", 0, GW_OPTION_DURATION, &options->idle_stop_ns, "TIME",
         "end the cluster if it was unused for this long,\n"
         "like 30m (default: none)"},
        {"history", 0, GW_OPTION_LIMIT, &options->history_jobs, "N",
         "number of ended jobs that listings show (default:\n10000)"},
        {"accounting", 0, GW_OPTION_TEXT, &options->accounting, "FILE",
         "file that keeps what each ended job used, for\n"
         "`gangway usage` (default: accounting.db in the\n"
         "folder of --state; none: no such file)"},
        {"accounting-retention", 0, GW_OPTION_DELAY, &options->accounting_retention_ns, "TIME",
         "remove jobs from it that ended longer ago\n"
         "(default: 8760h, a year; none: never)"},
        {"audit", 0, GW_OPTION_TEXT, &options->audit, "FILE",
         "file for a line of JSON about each submit, cancel,\n"
         "join of a worker, refused token and act of an admin\n"
         "(default: audit.jsonl in the cluster's folder;\n"
         "none: no such file)"},
        {"audit-max", 0, GW_OPTION_CAP, &options->audit_bytes_max, "SIZE",
         "size at which this file begins anew; the previous\n"
         "one is kept as .1 (default: 64M)"},
        {"pure-keep", 0, GW_OPTION_ROOM, &options->pure_bytes_max, "SIZE",
         "size of stored results of pure tasks that no task\n"
         "needs now (default: 64M; 0: store nothing)"},
        {"scatter-memory", 0, GW_OPTION_CAP, &options->scatter_memory_bytes, "SIZE",
         "memory of the scheduler for scattered values\n"
         "(default: half of this machine's memory)"},
        {0},
    };
    static_assert(sizeof rows == sizeof options->rows, "all rows");
    memcpy(options->rows, rows, sizeof rows);
    return options->rows;
}

uint64_t gw_scheduler_options_idle_stop_s(const struct gw_scheduler_options *options)
{
    return (options->idle_stop_ns + GW_NS_PER_S - 1) / GW_NS_PER_S;
}

uint64_t gw_scheduler_options_retention_ns(const struct gw_scheduler_options *options)
{
    const uint64_t ns = options->accounting_retention_ns;
    return ns == GW_UNITS_NONE ? UINT64_MAX : ns;
}
