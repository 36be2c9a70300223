/* Options that say how much memory workers may use: of `up`, `scheduler` and `worker`. */
#ifndef GW_CLI_MEMORY_OPTIONS_H
#define GW_CLI_MEMORY_OPTIONS_H

#include "client/cli/options.h"
#include "graph/base/memory_lines.h"

#include <limits.h>

/* What was typed; begins as {0}. */
struct gw_memory_options {
    const char *limit, *lines[4], *spill_dir;
    char spill_path[PATH_MAX];
};

/* Rows of an option table that fill `m`, a struct gw_memory_options. */
#define GW_MEMORY_OPTIONS(m)                                                                       \
    {"memory-limit",                                                                               \
     0,                                                                                            \
     GW_OPTION_TEXT,                                                                               \
     &(m).limit,                                                                                   \
     "SIZE",                                                                                       \
     "memory of all workers, like 8G, or auto: the\nmachine's, or its cgroup's (default)"},        \
        {"memory-target",                                                                          \
         0,                                                                                        \
         GW_OPTION_TEXT,                                                                           \
         &(m).lines[0],                                                                            \
         "F",                                                                                      \
         "results above this part of it go to disk\n(default: 0.6; 0: never)"},                    \
        {"memory-spill",                                                                           \
         0,                                                                                        \
         GW_OPTION_TEXT,                                                                           \
         &(m).lines[1],                                                                            \
         "F",                                                                                      \
         "so they do when all that is used comes to\nthis part (default: 0.7; 0: never)"},         \
        {"memory-pause", 0,   GW_OPTION_TEXT,                                                      \
         &(m).lines[2],  "F", "above this part nothing new starts\n(default: 0.8; 0: never)"},     \
        {"memory-terminate",                                                                       \
         0,                                                                                        \
         GW_OPTION_TEXT,                                                                           \
         &(m).lines[3],                                                                            \
         "F",                                                                                      \
         "above this part who uses most is killed\n(default: 0.95; 0: never)"},                    \
    {                                                                                              \
        "spill-dir", 0, GW_OPTION_TEXT, &(m).spill_dir, "DIR",                                     \
            "where results on disk lie (default: the\ncluster's folder, or /var/tmp)"              \
    }

/* gw_memory_options_given tells whether any of them was typed. */
bool gw_memory_options_given(const struct gw_memory_options *options);

/* gw_memory_options_read checks them and gives the lines, and the folder as an absolute path that
 * `options` holds (NULL: none was typed). GW_EINVAL, GW_ENOENT with a text that names the option.
 */
int gw_memory_options_read(struct gw_memory_options *options, struct gw_memory_lines *lines,
                           const char **spill_dir, struct gw_error *error);

#endif
