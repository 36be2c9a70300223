/* Text that grows in a buffer of fixed size: what does not fit is cut off. Numbers and names as
 * people read them. */
#ifndef GW_BASE_TEXT_H
#define GW_BASE_TEXT_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gw_text {
    char *to;
    size_t size, used; /* used: what there would be, if it fitted */
};

/* gw_text_say appends what printf would print; there is always a 0 behind it, where size > 0. */
void gw_text_say(struct gw_text *text, const char *format, ...) GW_PRINTF(2, 3);

/* gw_text_bytes writes a size as people read it, "1.5 GiB", and gives it back. */
enum { GW_TEXT_BYTES_ROOM = 24 };
const char *gw_text_bytes(uint64_t bytes, char to[static GW_TEXT_BYTES_ROOM]);

/* gw_text_seconds writes how long something may take, "0.3 s", "5000 s", and "20 us" or "1 ns" of
 * what is shorter than a millisecond, and gives it back. */
enum { GW_TEXT_SECONDS_ROOM = 24 };
const char *gw_text_seconds(uint64_t duration_ns, char to[static GW_TEXT_SECONDS_ROOM]);

/* gw_text_is_line tells whether bytes are UTF-8 without control characters, those that turn the
 * direction of text among them: a name that can be shown in a line, and in JSON. */
bool gw_text_is_line(const char *bytes, size_t count);

#endif
