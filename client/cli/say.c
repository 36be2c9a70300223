/* Messages are whole before they are broken into lines. */
#include "client/cli/say.h"

#include "client/cli/table.h"

#include <stdio.h>
#include <stdlib.h>

static char *text_of(const char *format, va_list args) GW_PRINTF(1, 0);
static char *text_of(const char *format, va_list args)
{
    char *text;
    return vasprintf(&text, format, args) < 0 ? NULL : text;
}

void gw_cli_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = text_of(format, args);
    va_end(args);
    gw_table_tell(stderr, text ? text : "gangway: out of memory");
    free(text);
}

void gw_cli_say_v(const char *who, const char *format, va_list args)
{
    char *text = text_of(format, args);
    gw_cli_say("%s: %s", who, text ? text : "out of memory");
    free(text);
}
