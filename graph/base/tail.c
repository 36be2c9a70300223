/* The last lines of output. The output comes from users' programs and may contain any bytes. */
#include "graph/base/tail.h"

#include <string.h>

/* Returns the part of a line that a terminal would show in the end: the text after the last '\r'
 * that has text after it. */
static const char *shown(const char *line, const char *end, const char **shown_end)
{
    while (end > line && end[-1] == '\r')
        end--;
    const char *start = end;
    while (start > line && start[-1] != '\r')
        start--;
    *shown_end = end;
    return start;
}

static void append(char *text, size_t *used, const char *line, const char *end)
{
    size_t room = GW_TAIL_BYTES - *used - 1;
    for (; line < end && room; line++, room--) {
        unsigned char c = (unsigned char)*line;
        text[(*used)++] = (c < 0x20 && c != '\t') || c == 0x7f ? '?' : (char)c;
    }
    text[*used] = '\0';
}

/* Returns the start of the last lines that fit. */
static const char *tail_start(const char *data, const char *end)
{
    int lines = 0;
    size_t bytes = 0;
    const char *start = end;
    while (start > data) {
        const char *line = start;
        while (line > data && line[-1] != '\n')
            line--;
        const char *to, *from = shown(line, start, &to);
        bytes += (size_t)(to - from) + 1;
        if (lines > 0 && (lines == GW_TAIL_LINES || bytes > GW_TAIL_BYTES))
            return start + 1 > end ? end : start + 1;
        lines++;
        if (line == data)
            return data;
        start = line - 1; /* move to the '\n' of the previous line */
    }
    return data;
}

void gw_tail_text(const char *data, size_t bytes, char text[GW_TAIL_BYTES])
{
    const char *end = data + bytes;
    text[0] = '\0';
    while (end > data && (end[-1] == '\n' || end[-1] == '\r'))
        end--;
    size_t used = 0;
    for (const char *line = tail_start(data, end); line < end;) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        line_end = line_end ? line_end : end;
        const char *to, *from = shown(line, line_end, &to);
        append(text, &used, from, to);
        if (line_end < end && used < GW_TAIL_BYTES - 1)
            text[used++] = '\n';
        text[used] = '\0';
        line = line_end + 1;
    }
}
