/* The last lines of a task's output, for people. */
#ifndef GW_BASE_TAIL_H
#define GW_BASE_TAIL_H

#include <stddef.h>

enum {
    GW_TAIL_LINES = 10,
    GW_TAIL_BYTES = 2048, /* size of the text buffer, including the terminating NUL */
};

/* gw_tail_text writes the last lines of data. If '\r' overwrites parts of a line, only the text
 * that a terminal would show last is written. Bytes that are not text become '?'. */
void gw_tail_text(const char *data, size_t bytes, char text[GW_TAIL_BYTES]);

#endif
