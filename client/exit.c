/* gw_error_exit and gw_version. */
#include <gangway/gangway.h>
#include <stdio.h>
#include <stdlib.h>

void gw_error_exit(const struct gw_error *error)
{
    fprintf(stderr, "%s\n", error && *error->text ? error->text : "failed");
    exit(gw_error_exit_code(error));
}

const char *gw_version(void)
{
    return GANGWAY_VERSION;
}
