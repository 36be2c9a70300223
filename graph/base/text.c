/* Text in a buffer of fixed size. */
#include "graph/base/text.h"

#include <stdarg.h>
#include <stdio.h>

void gw_text_say(struct gw_text *text, const char *format, ...)
{
    va_list args;
    if (text->used >= text->size)
        return;
    va_start(args, format);
    int n = vsnprintf(text->to + text->used, text->size - text->used, format, args);
    va_end(args);
    text->used += n > 0 ? (size_t)n : 0;
}
