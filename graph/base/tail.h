/* The last lines of output, for a person. */
#ifndef GW_BASE_TAIL_H
#define GW_BASE_TAIL_H

#include <stddef.h>

enum {
    GW_TAIL_LINES = 10,
    GW_TAIL_BYTES = 2048, /* of the text that a tail gives, with its end */
};

/* gw_tail_text writes the last lines of data: of a line that was written over by '\r' only what a
 * terminal would show last; bytes that are no text become '?'. */
void gw_tail_text(const char *data, size_t bytes, char text[GW_TAIL_BYTES]);

#endif
