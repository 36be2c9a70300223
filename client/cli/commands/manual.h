/* The manual page, from the same texts as `--help`. */
#ifndef GW_CLI_MANUAL_H
#define GW_CLI_MANUAL_H

#include "client/cli/lib/cli.h"

/* gw_manual_print prints gangway(1) to stdout, as man(7) has it: the help of every command (a NULL
 * name ends them), and beside them what belongs to no one command. Afterwards helps are printed as
 * that page has them: whoever calls it is about to exit. */
void gw_manual_print(const struct gw_cli_command *commands);

#endif
