/* Reading what was typed of memory: a size, and parts of it as fractions. */
#include "client/cli/memory_options.h"

#include "client/cli/units.h"

#include <errno.h>
#include <gangway/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES = 4 };

bool gw_memory_options_given(const struct gw_memory_options *options)
{
    bool given = options->limit || options->spill_dir;
    for (int i = 0; i < LINES; i++)
        given = given || options->lines[i];
    return given;
}

/* Whether files can be made there, as workers will. */
static int check_spill_dir(struct gw_memory_options *options, struct gw_error *error)
{
    struct stat folder;
    char path[PATH_MAX + 16];
    if (!realpath(options->spill_dir, options->spill_path) ||
        stat(options->spill_path, &folder) < 0)
        return gw_error_set(error, GW_ENOENT, "--spill-dir %s: %s", options->spill_dir,
                            strerror(errno));
    if (!S_ISDIR(folder.st_mode))
        return gw_error_set(error, GW_EINVAL,
                            "--spill-dir %s is a file: name a folder, on a disk with room",
                            options->spill_dir);
    (void)snprintf(path, sizeof path, "%s/gw-XXXXXX", options->spill_path);
    int fd = mkstemp(path);
    if (fd < 0)
        return gw_error_set(error, GW_EINVAL,
                            "--spill-dir %s: no file can be made there (%s): name a folder that is "
                            "yours, on a disk with room",
                            options->spill_dir, strerror(errno));
    (void)unlink(path);
    (void)close(fd);
    return 0;
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
    int rc = options->spill_dir ? check_spill_dir(options, error) : 0;
    if (rc == 0)
        rc = gw_memory_lines_check(&read, error);
    if (rc < 0)
        return rc;
    *lines = read;
    *spill_dir = options->spill_dir ? options->spill_path : NULL;
    return 0;
}
