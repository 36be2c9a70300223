/* Memory options of `up`, `scheduler` and `worker`. */
#ifndef GW_CLI_MEMORY_OPTIONS_H
#define GW_CLI_MEMORY_OPTIONS_H

#include "client/cli/lib/options.h"
#include "graph/base/memory_lines.h"

#include <limits.h>

enum { GW_MEMORY_OPTIONS = 6 }; /* number of options */

/* The values of the memory options. Initialise it with {0}. */
struct gw_memory_options {
    const char *limit, *lines[4], *spill_dir;
    char spill_path[PATH_MAX];
    struct gw_option rows[GW_MEMORY_OPTIONS + 1];
};

/* gw_memory_options_table returns rows of an option table that fill in `options`. The rows are
 * stored in `options`. */
struct gw_option *gw_memory_options_table(struct gw_memory_options *options);

/* gw_memory_options_given returns true if at least one memory option was given. */
bool gw_memory_options_given(const struct gw_memory_options *options);

/* gw_memory_options_read checks the options and converts them. *spill_dir is an absolute path
 * stored in `options`, or NULL if --spill-dir was not given. Errors: GW_EINVAL, GW_ENOENT; the text
 * names the option. */
int gw_memory_options_read(struct gw_memory_options *options, struct gw_memory_lines *lines,
                           const char **spill_dir, struct gw_error *error);

#endif
