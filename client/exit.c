/* How programs end with an error, and the version. */
#include <gangway/gangway.h>
#include <stdio.h>
#include <stdlib.h>

int gw_error_exit_code(const struct gw_error *error)
{
    switch (error ? error->code : GW_EIO) {
    case GW_OK:
        return 0;
    case GW_ENOSCHEDULER:
    case GW_ECLOSED:
        return 3;
    case GW_EINVAL:
    case GW_EINFEASIBLE:
    case GW_ECYCLE:
    case GW_EEXIST:
    case GW_ENOENT:
    case GW_ENOTSUP:
        return 2;
    case GW_ETIMEDOUT:
        return 124;
    case GW_ECANCELLED:
        return 130;
    default:
        return 1;
    }
}

void gw_error_exit(const struct gw_error *error)
{
    fprintf(stderr, "%s\n", error && *error->text ? error->text : "failed");
    exit(gw_error_exit_code(error));
}

const char *gw_version(void)
{
    return GANGWAY_VERSION;
}
