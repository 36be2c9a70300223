/* What the binary says to a person, on stderr. */
#ifndef GW_CLI_MESSAGE_H
#define GW_CLI_MESSAGE_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

/* gw_cli_message prints a message and a newline, as gw_table_tell has it: its first line is broken
 * between words where that is a terminal. gw_cli_message_v is that with a va_list, and says whose
 * it is: "WHO: message". */
void gw_cli_message(const char *format, ...) GW_PRINTF(1, 2);
void gw_cli_message_v(const char *who, const char *format, va_list args) GW_PRINTF(2, 0);

/* gw_cli_message_left_out tells that so many bytes of a task's standard output (err: error) are
 * missing where it is shown. rank: of a gang; -1: it is none. */
void gw_cli_message_left_out(uint64_t bytes, int rank, bool err);

#endif
