/* Options of a worker about its health checks. */
#ifndef GW_CLI_HEALTH_OPTIONS_H
#define GW_CLI_HEALTH_OPTIONS_H

#include "client/cli/lib/option.h"
#include "client/deploy/argv.h"

#include <gangway/error.h>
#include <stdint.h>

/* 0 and NULL: not given. */
struct gw_health_options {
    const char *program;
    uint64_t interval_ns, timeout_ns;
    struct gw_option rows[4];
};

/* gw_health_options_table returns rows of an option table that fill in `options`. The rows are
 * stored in `options`. */
struct gw_option *gw_health_options_table(struct gw_health_options *options);

/* gw_health_options_check checks the values. GW_EINVAL; the text names the option. */
int gw_health_options_check(const struct gw_health_options *options, struct gw_error *error);

/* gw_health_options_program checks the program on this machine. GW_EPERM: others can change it;
 * GW_ENOENT. gw_health_options_add appends the options to the command line of a worker of this
 * machine. */
int gw_health_options_program(const struct gw_health_options *options, struct gw_error *error);
void gw_health_options_add(const struct gw_health_options *options, struct gw_argv *argv);

#endif
