/* The manual pages, made from the same texts as `--help`. */
#ifndef GW_CLI_MANUAL_H
#define GW_CLI_MANUAL_H

#include "client/cli/lib/cli.h"

/* gw_manual_print prints gangway(1) to stdout with the macros of man(7). `commands` ends with a
 * NULL name. Afterwards --help prints in this format too, so the caller must exit. */
void gw_manual_print(const struct gw_cli_command *commands);

/* gw_manual_print_command prints the page of one command, for example gangway-submit(1). */
void gw_manual_print_command(const struct gw_cli_command *command);

#endif
