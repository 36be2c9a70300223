/* A graph of commands: one for each line of a file, for each object of a JSON list, or for each
 * number of an array. */
#ifndef GW_CLI_BULK_FILE_H
#define GW_CLI_BULK_FILE_H

#include "client/cli/launch/launch_options.h"

#include <gangway/gangway.h>

struct gw_bulk_file {
    struct gw_graph *graph;
    gw_node *nodes;  /* array of `count` nodes */
    char **names;    /* array of `count` names, NULL if a task has no name; NULL if there are no
                        objects */
    uint32_t *ranks; /* array of `count` numbers of ranks, 0 for an ordinary task; NULL: all tasks
                        are as the options say */
    size_t count;
    const char *name;    /* name of the job if the user gives none: the name of the file or of the
                            command; borrowed */
    int64_t first, step; /* labels of tasks without names: first, first + step, ... */
    bool has_fields;     /* at least one line has several fields */
};

/* gw_bulk_file_init reads options->each_line or options->from_json ("-": standard input) into a
 * graph. Errors: GW_EINVAL with the position of the mistake; GW_ENOENT; GW_EIO; GW_ENOMEM. Always
 * call gw_bulk_file_deinit, also after a failure. */
int gw_bulk_file_init(struct gw_bulk_file *file, const struct gw_launch_options *options,
                      struct gw_error *error);

/* gw_bulk_file_init_numbers makes a graph that contains the command once for each number of a
 * range; only `begin`, `end` and `step` of the range are used. Error: GW_ENOMEM. Always call
 * gw_bulk_file_deinit, also after a failure. */
int gw_bulk_file_init_numbers(struct gw_bulk_file *file, const struct gw_launch_options *options,
                              const struct gw_range *range, struct gw_error *error);
void gw_bulk_file_deinit(struct gw_bulk_file *file);

/* gw_bulk_file_label writes the name of task i, or its number if it has no name. */
void gw_bulk_file_label(const struct gw_bulk_file *file, size_t i, char *text, size_t text_bytes);

#endif
