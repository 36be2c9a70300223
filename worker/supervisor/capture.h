/* A capture file: what one stream of a process is appended to, cut where it grows too long.
 *
 * A held process does not write to the file itself but into a pipe, of which the reaper copies into
 * the file what lies within GW_HELD_BYTES of the reader: beyond that the pipe fills, and the
 * process waits. What the reader has yet to get is never left out of the file.
 *
 * A file that is to be made has no name at first, and most never get one: a process that writes
 * nothing leaves no file, and the next one of the same reaper is given the same, still empty. */
#ifndef GW_SUPERVISOR_CAPTURE_H
#define GW_SUPERVISOR_CAPTURE_H

#include <gangway/error.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct gw_capture {
    int fd;       /* -1: not open */
    int pipe;     /* of a held process: what it writes comes out here; -1: it has ended */
    int child_fd; /* the other end, until the process was started; -1: none */
    bool held;
    int spare;     /* an empty file without a name, for the next; -1: none */
    bool nameless; /* what is open has yet to get its name */
    bool whole;    /* no hole is made into it: its end is cut off */
    bool named;    /* as in the options */
    uint64_t bytes_max, bytes_last;
    uint64_t copied_bytes; /* from the pipe */
    uint64_t read_bytes;   /* that the reader has; UINT64_MAX: nobody reads */
    uint64_t hole_end;     /* 0: there is none */
    uint64_t device;       /* of the nameless */
    char path[PATH_MAX];   /* of what was opened last */
};

#define GW_CAPTURE_CLOSED ((struct gw_capture){.fd = -1, .spare = -1, .pipe = -1, .child_fd = -1})

struct gw_capture_options {
    const char *path; /* empty: /dev/null */
    uint64_t bytes_max;
    bool named; /* it has its name at once, written to or not */
    bool held;  /* the process waits for its reader; not with an empty path */
};

/* gw_capture_open makes a file (0600) for appending. It has no name before gw_capture_name, and
 * what had that name goes then, unless `named`: then what is there is opened. bytes_max 0: no
 * limit. GW_ESTART with a text; nothing is open then. */
int gw_capture_open(struct gw_capture *capture, const struct gw_capture_options *options,
                    struct gw_error *error);

/* gw_capture_child_fd is what the process gets to write to, borrowed; gw_capture_started is for
 * when it has it, or was not started. */
int gw_capture_child_fd(const struct gw_capture *capture);
void gw_capture_started(struct gw_capture *capture);

/* gw_capture_poll_fd is what to wait for input of before gw_capture_copy; -1: there is nothing to
 * copy, or the reader comes first. gw_capture_copy copies a bounded piece and never blocks. Where
 * the disk has no room for it, the process has a broken pipe. */
int gw_capture_poll_fd(const struct gw_capture *capture);
void gw_capture_copy(struct gw_capture *capture);

/* gw_capture_drain copies what is in the pipe, however far the reader is: nobody writes to it any
 * more. */
void gw_capture_drain(struct gw_capture *capture);

/* gw_capture_on_read says that the reader has what lies before offset; UINT64_MAX: nobody reads any
 * more, and the process never waits again. */
void gw_capture_on_read(struct gw_capture *capture, uint64_t offset);

/* gw_capture_name gives the file its name, where it has none yet; a failure is logged. */
void gw_capture_name(struct gw_capture *capture);

/* gw_capture_close is for when nobody writes any more: it drains the pipe, cuts the file to its
 * limit, and names it if there is anything in it. */
void gw_capture_close(struct gw_capture *capture);

/* gw_capture_check leaves out of the file what is more than its limit: all but the first and the
 * last half, or what came last; of a held process nothing that the
 * reader has yet to get. It tells whether the file grew since
 * the last check (then check again soon). */
bool gw_capture_check(struct gw_capture *capture);

#endif
