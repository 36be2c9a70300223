/* Messages of the binary to the user, on stderr. */
#ifndef GW_CLI_MESSAGE_H
#define GW_CLI_MESSAGE_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

/* gw_cli_message prints a message and a newline. In a terminal its first line is broken between
 * words (see gw_table_tell). gw_cli_message_v takes a va_list and prints "WHO: message". */
void gw_cli_message(const char *format, ...) GW_PRINTF(1, 2);
void gw_cli_message_v(const char *who, const char *format, va_list args) GW_PRINTF(2, 0);

/* gw_cli_message_left_out prints that bytes of a task's standard output (`err`: standard error) are
 * missing in the printed output. `rank` is the rank of a gang, or -1 for an ordinary task. */
void gw_cli_message_left_out(uint64_t bytes, int rank, bool err);

#endif
