/* A graph of commands: one a line of a file, one an object of a list in JSON, or one a number. */
#ifndef GW_CLI_BULK_FILE_H
#define GW_CLI_BULK_FILE_H

#include "client/cli/launch/launch_options.h"

#include <gangway/gangway.h>

struct gw_bulk_file {
    struct gw_graph *graph;
    gw_node *nodes;  /* count */
    char **names;    /* count, NULL where it has none; NULL: no objects */
    uint32_t *ranks; /* count, of gangs, else 0; NULL: as the options say, for all */
    size_t count;
    const char *name;    /* of the job: the file's, or the command's; borrowed */
    int64_t first, step; /* what those without a name are called: first, first + step, ... */
    bool has_fields;     /* a line has several */
};

/* gw_bulk_file_init reads options->each_line or options->from_json ("-": standard input) into a
 * graph. GW_EINVAL with the place of what is wrong, GW_ENOENT, GW_EIO, GW_ENOMEM; deinit it in any
 * case. */
int gw_bulk_file_init(struct gw_bulk_file *file, const struct gw_launch_options *options,
                      struct gw_error *error);

/* gw_bulk_file_init_numbers makes a graph of the command with each number of a range, of which only
 * begin, end and step are read. GW_ENOMEM; deinit it in any case. */
int gw_bulk_file_init_numbers(struct gw_bulk_file *file, const struct gw_launch_options *options,
                              const struct gw_range *range, struct gw_error *error);
void gw_bulk_file_deinit(struct gw_bulk_file *file);

/* gw_bulk_file_label writes what task i is called: its name, else its number. */
void gw_bulk_file_label(const struct gw_bulk_file *file, size_t i, char *text, size_t text_bytes);

#endif
