/* Messages to the user. A message is formatted completely before it is broken into lines. */
#include "client/cli/lib/message.h"

#include "client/cli/lib/table.h"

#include <stdio.h>
#include <stdlib.h>

static char *text_of(const char *format, va_list args) GW_PRINTF(1, 0);
static char *text_of(const char *format, va_list args)
{
    char *text;
    return vasprintf(&text, format, args) < 0 ? NULL : text;
}

void gw_cli_message(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = text_of(format, args);
    va_end(args);
    gw_table_tell(stderr, text ? text : "gangway: out of memory");
    free(text);
}

void gw_cli_message_v(const char *who, const char *format, va_list args)
{
    char *text = text_of(format, args);
    gw_cli_message("%s: %s", who, text ? text : "out of memory");
    free(text);
}

void gw_cli_message_left_out(uint64_t bytes, int rank, bool err)
{
    char who[32] = "the task's";
    if (rank >= 0)
        (void)snprintf(who, sizeof who, "rank %d's", rank);
    gw_cli_message(
        "gangway: %llu bytes of %s standard %s are missing here, because they were not stored",
        (unsigned long long)bytes, who, err ? "error" : "output");
}
