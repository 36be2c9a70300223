/* The program is looked at only when the worker starts: `gangway config check` also runs on other
 * machines. */
#include "client/cli/hosts/health_options.h"

#include "client/cli/lib/units.h"
#include "graph/base/clock.h"
#include "worker/net/parts/health_script.h"

#include <assert.h>
#include <string.h>

#define INTERVAL_NS (60 * GW_NS_PER_S)

struct gw_option *gw_health_options_table(struct gw_health_options *options)
{
    const struct gw_option rows[] = {
        {"health-check", 0, GW_OPTION_TEXT, &options->program, "FILE",
         "program that shows with exit code 0 that this\n"
         "machine is well; else the worker is drained, with\n"
         "the program's last line as the reason. Only root\n"
         "and the worker's user may be able to change it"},
        {"health-interval", 0, GW_OPTION_DELAY, &options->interval_ns, "TIME",
         "run this program, and the checks of the disk, the\n"
         "memory and the clock, at this interval (default:\n"
         "1m; none: never)"},
        {"health-timeout", 0, GW_OPTION_DELAY, &options->timeout_ns, "TIME",
         "kill the program, and count it as failed, after\n"
         "this time (default: 30s)"},
        {0},
    };
    static_assert(sizeof rows == sizeof options->rows, "all rows");
    memcpy(options->rows, rows, sizeof rows);
    return options->rows;
}

int gw_health_options_check(const struct gw_health_options *options, struct gw_error *error)
{
    if (options->interval_ns && options->interval_ns < GW_NS_PER_S)
        return gw_error_set(error, GW_EINVAL, "--health-interval: the minimum is 1 s");
    if (options->timeout_ns && options->timeout_ns < GW_NS_PER_S)
        return gw_error_set(error, GW_EINVAL, "--health-timeout: the minimum is 1 s");
    if (options->timeout_ns == GW_UNITS_NONE)
        return gw_error_set(error, GW_EINVAL, "--health-timeout cannot be none");
    if (options->program && options->interval_ns == GW_UNITS_NONE)
        return gw_error_set(error, GW_EINVAL,
                            "--health-check needs an interval, and --health-interval is none");
    return 0;
}

int gw_health_options_program(const struct gw_health_options *options, struct gw_error *error)
{
    int rc = options->program ? gw_health_script_check(options->program, error) : 0;
    return rc < 0 ? gw_error_prefix(error, "--health-check") : 0;
}

void gw_health_options_add(const struct gw_health_options *options, struct gw_argv *argv)
{
    const uint64_t interval_ns = options->interval_ns ? options->interval_ns : INTERVAL_NS;
    gw_argv_add_text(argv, "--health-check", options->program);
    if (interval_ns != GW_UNITS_NONE)
        gw_argv_add_number(argv, "--health-interval", interval_ns / GW_NS_PER_MS);
    if (options->timeout_ns)
        gw_argv_add_number(argv, "--health-timeout", options->timeout_ns / GW_NS_PER_MS);
}
