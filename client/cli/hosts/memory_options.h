/* Options that say how much memory workers may use: of `up`, `scheduler` and `worker`. */
#ifndef GW_CLI_MEMORY_OPTIONS_H
#define GW_CLI_MEMORY_OPTIONS_H

#include "client/cli/lib/options.h"
#include "graph/base/memory_lines.h"

#include <limits.h>

enum { GW_MEMORY_OPTIONS = 6 }; /* options */

/* What was typed; begins as {0}. */
struct gw_memory_options {
    const char *limit, *lines[4], *spill_dir;
    char spill_path[PATH_MAX];
    struct gw_option rows[GW_MEMORY_OPTIONS + 1];
};

/* gw_memory_options_table gives the rows of an option table that fill it; they lie in it. */
struct gw_option *gw_memory_options_table(struct gw_memory_options *options);

/* gw_memory_options_given tells whether any of them was typed. */
bool gw_memory_options_given(const struct gw_memory_options *options);

/* gw_memory_options_read checks them and gives the lines, and the folder as an absolute path that
 * `options` holds (NULL: none was typed). GW_EINVAL, GW_ENOENT with a text that names the option.
 */
int gw_memory_options_read(struct gw_memory_options *options, struct gw_memory_lines *lines,
                           const char **spill_dir, struct gw_error *error);

#endif
