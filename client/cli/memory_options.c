/* Reading what was typed of memory: a size, and parts of it as fractions. */
#include "client/cli/memory_options.h"

#include "client/cli/units.h"

#include <errno.h>
#include <gangway/error.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 4 };

bool gw_memory_options_given(const struct gw_memory_options *options)
{
    bool given = options->limit || options->spill_dir;
    for (int i = 0; i < LINES; i++)
        given = given || options->lines[i];
    return given;
}

int gw_memory_options_read(struct gw_memory_options *options, struct gw_memory_lines *lines,
                           const char **spill_dir, struct gw_error *error)
{
    static const char *const names[LINES] = {"target", "spill", "pause", "terminate"};
    struct gw_memory_lines read;
    gw_memory_lines_init(&read);
    uint32_t *const values[LINES] = {&read.target, &read.spill, &read.pause, &read.terminate};
    if (options->limit && strcmp(options->limit, "auto") != 0 &&
        (gw_units_parse_size(options->limit, &read.limit_bytes) < 0 || !read.limit_bytes))
        return gw_error_set(error, GW_EINVAL, "--memory-limit %s is not a size, like 8G, or auto",
                            options->limit);
    for (int i = 0; i < LINES; i++) {
        char *end;
        if (!options->lines[i])
            continue;
        double part = strtod(options->lines[i], &end);
        if (end == options->lines[i] || *end || !(part >= 0 && part <= 1))
            return gw_error_set(error, GW_EINVAL,
                                "--memory-%s %s is not a part of the limit, from 0 (off) to 1",
                                names[i], options->lines[i]);
        *values[i] = (uint32_t)(part * 1000 + 0.5);
        if (part > 0 && !*values[i])
            *values[i] = 1;
    }
    if (options->spill_dir && !realpath(options->spill_dir, options->spill_path))
        return gw_error_set(error, GW_ENOENT, "--spill-dir %s: %s", options->spill_dir,
                            strerror(errno));
    int rc = gw_memory_lines_check(&read, error);
    if (rc < 0)
        return rc;
    *lines = read;
    *spill_dir = options->spill_dir ? options->spill_path : NULL;
    return 0;
}
