/* What the binary says to a person, on stderr. */
#ifndef GW_CLI_SAY_H
#define GW_CLI_SAY_H

#include <gangway/error.h>

/* gw_cli_say prints a message and a newline, as gw_table_tell has it: its first line is broken
 * between words where that is a terminal. gw_cli_say_v is that with a va_list, and says whose it
 * is: "WHO: message". */
void gw_cli_say(const char *format, ...) GW_PRINTF(1, 2);
void gw_cli_say_v(const char *who, const char *format, va_list args) GW_PRINTF(2, 0);

#endif
