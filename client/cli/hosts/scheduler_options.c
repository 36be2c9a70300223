/* Options of the scheduler that `up` and `scheduler` share. */
#include "client/cli/hosts/scheduler_options.h"

#include "graph/base/clock.h"

#include <assert.h>
#include <string.h>

struct gw_option *gw_scheduler_options_table(struct gw_scheduler_options *options)
{
    const struct gw_option rows[] = {
        {"listen", 0, GW_OPTION_TEXT, &options->listen, "HOST:PORT",
         "workers and clients on other machines reach it\nat this address, by TLS, with tokens\n"
         "(`gangway token create`); without a port it\ntakes a free one and prints it"},
        {"tokens", 0, GW_OPTION_TEXT, &options->tokens, "FILE",
         "the token file (default:\n~/.config/gangway/tokens)"},
        {"state", 0, GW_OPTION_TEXT, &options->state, "DIR",
         "where detached jobs are kept for its next life,\non a disk of this host (default: state "
         "in\n"
         "~/.local/state/gangway/HOSTNAME)"},
        {"accept-loss", 0, GW_OPTION_FLAG, &options->accept_loss, NULL,
         "a state that is damaged is set aside, under a name\nthat is said in the log, and a new "
         "one begins\nwithout its jobs"},
        {"idle-stop", 0, GW_OPTION_DURATION, &options->idle_stop_ns, "TIME",
         "end when unused for so long, like 30m\n(default: 0, never)"},
        {"pure-keep", 0, GW_OPTION_ROOM, &options->pure_keep_bytes, "SIZE",
         "results of pure tasks that are kept for who\nasks next (64M; 0: none)"},
        {"scatter-memory", 0, GW_OPTION_SIZE, &options->scatter_memory_bytes, "SIZE",
         "values that clients scatter, at the scheduler\n(default, also for 0: half of this "
         "machine's\nmemory)"},
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
