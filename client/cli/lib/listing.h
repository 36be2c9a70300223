/* Subcommands that show one query: options, the question, a table or JSON. */
#ifndef GW_CLI_LISTING_H
#define GW_CLI_LISTING_H

#include "client/cli/lib/table.h"

struct gw_listing {
    const char *command, *summary;
    const char *details; /* or NULL */
    const char *query;
    const struct gw_column *columns;
    const char *none; /* said when the list is empty */
    bool single;      /* the answer is one dict, not a list */
    const char
        *below; /* of a single one: a list in it that is shown as a table below it; or NULL */
    const struct gw_column *below_columns;
    void (*remark)(const struct gw_value *answer); /* what to say of it to a person; or NULL */
};

/* gw_listing_run is the whole subcommand; gives the exit code. */
int gw_listing_run(const struct gw_listing *listing, int argc, char **argv);

#endif
