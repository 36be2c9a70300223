/* Parses the memory options: a size, and thresholds as fractions of it. */
#include "client/cli/hosts/memory_options.h"

#include "client/cli/lib/units.h"

#include <assert.h>
#include <errno.h>
#include <gangway/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES = 4 };

struct gw_option *gw_memory_options_table(struct gw_memory_options *options)
{
    const struct gw_option rows[] = {
        {"memory-limit", 0, GW_OPTION_TEXT, &options->limit, "SIZE",
         "memory of all workers, like 8G, or auto: the\n"
         "memory of the machine or of its cgroup (default),\n"
         "or none: that memory, and no results go to disk,\n"
         "no task waits and no process is killed unless one\n"
         "of the options below says so"},
        {"memory-target", 0, GW_OPTION_FRACTION, &options->lines[0], "F",
         "write results to disk if they use more than this\n"
         "fraction of the limit (default: 0.6; none: never)"},
        {"memory-spill", 0, GW_OPTION_FRACTION, &options->lines[1], "F",
         "also write results to disk if all memory in use\n"
         "exceeds this fraction (default: 0.7; none: never)"},
        {"memory-pause", 0, GW_OPTION_FRACTION, &options->lines[2], "F",
         "start no task above this fraction (default: 0.8;\n"
         "none: start always)"},
        {"memory-terminate", 0, GW_OPTION_FRACTION, &options->lines[3], "F",
         "kill the largest process above this fraction\n"
         "(default: 0.95; none: never)"},
        {"spill-dir", 0, GW_OPTION_TEXT, &options->spill_dir, "DIR",
         "folder for results on disk (default: the\n"
         "cluster's folder, or /var/tmp)"},
        {0},
    };
    static_assert(sizeof rows == sizeof options->rows, "all rows");
    memcpy(options->rows, rows, sizeof rows);
    return options->rows;
}

bool gw_memory_options_given(const struct gw_memory_options *options)
{
    bool given = options->limit || options->spill_dir;
    for (int i = 0; i < LINES; i++)
        given = given || options->lines[i];
    return given;
}

/* Checks that files can be made in the folder, as workers will do. */
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
                            "--spill-dir %s is a file: give a folder, on a disk with free space",
                            options->spill_dir);
    (void)snprintf(path, sizeof path, "%s/gw-XXXXXX", options->spill_path);
    int fd = mkstemp(path);
    if (fd < 0)
        return gw_error_set(error, GW_EINVAL,
                            "--spill-dir %s: cannot make a file there (%s): give a folder that you "
                            "own, on a disk with free space",
                            options->spill_dir, strerror(errno));
    (void)unlink(path);
    (void)close(fd);
    return 0;
}

/* Checks that the thresholds are in order. */
static int check_order(const struct gw_memory_options *options, const struct gw_memory_lines *read,
                       struct gw_error *error)
{
    static const char *const names[LINES] = {"target", "spill", "pause", "terminate"};
    int rc = gw_memory_lines_check(read, error), given = LINES - 1;
    while (given > 0 && !options->lines[given])
        given--;
    return rc == 0 || !options->lines[given]
               ? rc
               : gw_error_prefix(error, "--memory-%s %s", names[given], options->lines[given]);
}

int gw_memory_options_read(struct gw_memory_options *options, struct gw_memory_lines *lines,
                           const char **spill_dir, struct gw_error *error)
{
    struct gw_memory_lines read;
    gw_memory_lines_init(&read);
    uint32_t *const values[LINES] = {&read.target, &read.spill, &read.pause, &read.terminate};
    if (options->limit && gw_units_is_none(options->limit))
        read = (struct gw_memory_lines){0};
    else if (options->limit && strcmp(options->limit, "auto") != 0 &&
             (gw_units_parse_size(options->limit, &read.limit_bytes) < 0 || !read.limit_bytes))
        return gw_error_set(error, GW_EINVAL,
                            "--memory-limit %s is not a size like 8G, auto or none",
                            options->limit);
    for (int i = 0; i < LINES; i++) {
        if (!options->lines[i])
            continue;
        const double part =
            gw_units_is_none(options->lines[i]) ? 0 : strtod(options->lines[i], NULL);
        *values[i] = (uint32_t)(part * 1000 + 0.5);
        if (part > 0 && !*values[i])
            *values[i] = 1;
    }
    int rc = options->spill_dir ? check_spill_dir(options, error) : 0;
    if (rc == 0)
        rc = check_order(options, &read, error);
    if (rc < 0)
        return rc;
    *lines = read;
    *spill_dir = options->spill_dir ? options->spill_path : NULL;
    return 0;
}
