/* `gangway submit` runs a command as an ordinary task. */
#include "client/cli/cli.h"
#include "client/cli/launch.h"

int gw_cli_submit(int argc, char **argv)
{
    return gw_launch_main(false, argc, argv);
}
