/* `gangway submit` runs a command as an ordinary task. */
#include "client/cli/commands/commands.h"

#include "client/cli/launch/launch.h"

int gw_cli_submit(int argc, char **argv)
{
    return gw_launch_main(false, argc, argv);
}
