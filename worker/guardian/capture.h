/* A capture file: what one stream of a process is appended to, cut where it grows too long. */
#ifndef GW_GUARDIAN_CAPTURE_H
#define GW_GUARDIAN_CAPTURE_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

struct gw_capture {
    int fd; /* -1: not open */
    uint64_t bytes_max, bytes_last;
};

/* gw_capture_open opens (or makes, 0600) a file for appending; an empty path is /dev/null.
 * bytes_max 0: no limit. GW_ESTART with a text; nothing is open then. */
int gw_capture_open(struct gw_capture *capture, const char *path, uint64_t bytes_max,
                    struct gw_error *error);
void gw_capture_close(struct gw_capture *capture);

/* gw_capture_check cuts the file back to its limit, with a last line that says so, and tells
 * whether it grew since the last check (then check again soon). */
bool gw_capture_check(struct gw_capture *capture);

#endif
