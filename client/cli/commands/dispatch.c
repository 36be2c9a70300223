/* `gangway dispatch` runs a command as a gang. */
#include "client/cli/commands/commands.h"

#include "client/cli/launch/launch.h"

int gw_cli_dispatch(int argc, char **argv)
{
    return gw_launch_main(true, argc, argv);
}
