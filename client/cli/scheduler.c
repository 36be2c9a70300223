/* `gangway scheduler`: the daemon itself, in the foreground. `gangway up` starts it with what it
 * needs; by hand it is for service managers, and lies in this user's folder unless --dir says
 * otherwise. */
#include "scheduler/net/daemon.h"

#include "client/address.h"
#include "client/cli/cli.h"

#include <stdlib.h>
#include <string.h>

int gw_cli_scheduler(int argc, char **argv)
{
    char dir[PATH_MAX], option[] = "--dir";
    struct gw_error error;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--dir") == 0 || strncmp(argv[i], "--dir=", 6) == 0)
            return gw_scheduler_main(argc, argv);
    if (gw_address_default_dir(dir, &error) < 0)
        return gw_cli_error(&error);
    char **all = calloc((size_t)argc + 3, sizeof *all);
    if (!all)
        return GW_EXIT_FAILED;
    all[0] = argv[0];
    all[1] = option;
    all[2] = dir;
    memcpy(all + 3, argv + 1, (size_t)(argc - 1) * sizeof *all);
    int exit_code = gw_scheduler_main(argc + 2, all);
    free(all);
    return exit_code;
}
