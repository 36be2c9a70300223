/* A graph of commands from a file: one a line, or a list of JSON objects. */
#ifndef GW_CLI_BULK_FILE_H
#define GW_CLI_BULK_FILE_H

#include "client/cli/launch_options.h"

#include <gangway/gangway.h>

struct gw_bulk_file {
    struct gw_graph *graph;
    gw_node *nodes;  /* count */
    char **names;    /* count, NULL where it has none; NULL: lines */
    uint32_t *ranks; /* count, of gangs, else 0; NULL: lines */
    size_t count;
    const char *name; /* of the job: the file's; borrowed */
};

/* gw_bulk_file_init reads options->each_line or options->from_json ("-": standard input) into a
 * graph. GW_EINVAL with the place of what is wrong, GW_ENOENT, GW_EIO, GW_ENOMEM; deinit it in any
 * case. */
int gw_bulk_file_init(struct gw_bulk_file *file, const struct gw_launch_options *options,
                      struct gw_error *error);
void gw_bulk_file_deinit(struct gw_bulk_file *file);

/* gw_bulk_file_label writes what task i is called: its name, else its number. */
void gw_bulk_file_label(const struct gw_bulk_file *file, size_t i, char *text, size_t text_bytes);

#endif
