/* A capture file: what one stream of a process is appended to, cut where it grows too long.
 *
 * A file that is to be made has no name at first, and most never get one: a process that writes
 * nothing leaves no file, and the next one of the same warden is given the same, still empty. */
#ifndef GW_GUARDIAN_CAPTURE_H
#define GW_GUARDIAN_CAPTURE_H

#include <gangway/error.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct gw_capture {
    int fd;        /* -1: not open */
    int spare;     /* an empty file without a name, for the next; -1: none */
    bool nameless; /* what is open has yet to get its name */
    bool whole;    /* no hole is made into it: its end is cut off */
    uint64_t bytes_max, bytes_last;
    uint64_t hole_end;   /* 0: there is none */
    uint64_t device;     /* of the nameless */
    char path[PATH_MAX]; /* of what was opened last */
};

#define GW_CAPTURE_CLOSED ((struct gw_capture){.fd = -1, .spare = -1})

struct gw_capture_options {
    const char *path; /* empty: /dev/null */
    uint64_t bytes_max;
    bool named; /* it has its name at once, written to or not */
};

/* gw_capture_open makes a file (0600) for appending. It has no name before gw_capture_name, and
 * what had that name goes then, unless `named`: then what is there is opened. bytes_max 0: no
 * limit. GW_ESTART with a text; nothing is open then. */
int gw_capture_open(struct gw_capture *capture, const struct gw_capture_options *options,
                    struct gw_error *error);

/* gw_capture_name gives the file its name, where it has none yet; a failure is logged. */
void gw_capture_name(struct gw_capture *capture);

/* gw_capture_close is for when nobody writes any more: it cuts the file to its limit, and names
 * it if there is anything in it. */
void gw_capture_close(struct gw_capture *capture);

/* gw_capture_check leaves out of the file what is more than its limit: all but the first and the
 * last half, or what came last, and then a last line says so. It tells whether the file grew since
 * the last check (then check again soon). */
bool gw_capture_check(struct gw_capture *capture);

#endif
