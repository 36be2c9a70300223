/* Subcommands that print one query: they read options, send the query, and print a table or JSON.
 */
#ifndef GW_CLI_LISTING_H
#define GW_CLI_LISTING_H

#include "client/cli/lib/option.h"
#include "client/cli/lib/table.h"

struct gw_listing_command {
    const char *command, *summary;
    const char *details; /* or NULL */
    const char *query;
    const struct gw_column *columns;
    const char *none;  /* printed if the list is empty */
    bool single;       /* the answer is one dict, not a list */
    const char *below; /* key of a list in the answer that is printed as a second table; or NULL */
    const struct gw_column *below_columns;
    struct gw_option *options; /* further options; or NULL */
    /* Returns false for rows of a list that are left out; or NULL. */
    bool (*lists)(const struct gw_value *row);
    void (*remark)(const struct gw_value
                       *answer); /* prints a remark about the answer, not with --json; or NULL */
};

/* gw_listing_run is the complete subcommand. Returns the exit code. */
int gw_listing_run(const struct gw_listing_command *listing, int argc, char **argv);

#endif
