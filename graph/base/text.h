/* Text that is appended to a buffer of fixed size. Text that does not fit is cut. Also formats
 * numbers for people. */
#ifndef GW_BASE_TEXT_H
#define GW_BASE_TEXT_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gw_text {
    char *to;
    size_t size, used; /* used: length of the whole text, even if it did not fit */
};

/* gw_text_say appends formatted text, as printf does. If size > 0, the text always ends with a NUL.
 */
void gw_text_say(struct gw_text *text, const char *format, ...) GW_PRINTF(2, 3);

/* gw_text_bytes writes a size for people, such as "1.5 GiB", and returns `to`. */
enum { GW_TEXT_BYTES_ROOM = 24 };
const char *gw_text_bytes(uint64_t bytes, char to[static GW_TEXT_BYTES_ROOM]);

/* gw_text_bytes_two writes two sizes that are compared. If they differ and are the same as rounded
 * for people, it writes them in bytes. */
void gw_text_bytes_two(uint64_t one, uint64_t two, char first[static GW_TEXT_BYTES_ROOM],
                       char second[static GW_TEXT_BYTES_ROOM]);

/* gw_text_duration writes a duration for people as options accept it, such as "850us", "12ms",
 * "4.2s", "3m05s", "1h30m", "2d04h", or "10m" if nothing else remains. The duration is rounded to
 * the last digit that is shown. It returns `to`. */
enum { GW_TEXT_DURATION_ROOM = 32 };
const char *gw_text_duration(uint64_t duration_ns, char to[static GW_TEXT_DURATION_ROOM]);

/* gw_text_real writes a number with as many digits as are needed to read the same number again,
 * such as "0.1", "3" or "1e-300", and returns `to`. */
enum { GW_TEXT_REAL_ROOM = 32 };
const char *gw_text_real(double real, char to[static GW_TEXT_REAL_ROOM]);

/* gw_text_is_line returns true if the bytes are UTF-8 without control characters, including those
 * that change the direction of text. Such a name can be shown in a line and in JSON. */
bool gw_text_is_line(const char *bytes, size_t count);

#endif
