#include "client/cli/lib/exit_code.h"

#include <stddef.h>

const struct gw_cli_exit_code gw_cli_exit_codes[] = {
    {GW_EXIT_OK, "ok"},
    {GW_EXIT_FAILED, "a task failed"},
    {GW_EXIT_USAGE, "usage"},
    {GW_EXIT_NO_SCHEDULER, "no scheduler"},
    {GW_EXIT_TIMEOUT, "time-out"},
    {GW_EXIT_INTERRUPTED, "interrupted"},
    {0, NULL},
};
