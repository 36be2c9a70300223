/* A capture file: one stream of a process is appended to it. The file is cut if it grows beyond its
 * limit.
 *
 * A held process does not write to the file itself but into a pipe. The reaper copies from the pipe
 * what is at most GW_HELD_BYTES ahead of the reader. Beyond that the pipe fills and the process
 * waits. Output that the reader has not received yet is never cut from the file.
 *
 * A new file has no name at first, and most never get one: a process that writes nothing leaves no
 * file. The next process of the same reaper then gets the same, still empty file. */
#ifndef GW_SUPERVISOR_CAPTURE_H
#define GW_SUPERVISOR_CAPTURE_H

#include "graph/wire/output_times.h"

#include <gangway/error.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct gw_capture {
    int fd;       /* -1: not open */
    int pipe;     /* held process: reading end of its pipe; -1: closed */
    int child_fd; /* the writing end, until the process was started; -1: none */
    bool held;
    int spare;     /* empty file without a name for the next process; -1: none */
    bool nameless; /* the open file has no name yet */
    bool whole;    /* the file system has no holes: the end is cut off */
    bool named;    /* as in the options */
    uint64_t bytes_max, bytes_last;
    uint64_t copied_bytes; /* bytes copied from the pipe */
    uint64_t read_bytes;   /* position of the reader; UINT64_MAX: no reader */
    uint64_t hole_end;     /* 0: no hole */
    uint64_t device;       /* device of the nameless file */
    struct gw_output_times times;
    char path[PATH_MAX]; /* path of the last file opened */
};

#define GW_CAPTURE_CLOSED ((struct gw_capture){.fd = -1, .spare = -1, .pipe = -1, .child_fd = -1})

struct gw_capture_options {
    const char *path; /* empty: /dev/null */
    uint64_t bytes_max;
    bool named; /* the file gets its name at once, even if it stays empty */
    bool held;  /* the process waits for its reader; not allowed with an empty path */
};

/* gw_capture_open creates a file (mode 0600) for appending. The file has no name before
 * gw_capture_name, which replaces an older file of that name. If `named` is true, an existing file
 * is opened instead. bytes_max 0: no limit. Returns GW_ESTART and sets the error if it fails. */
int gw_capture_open(struct gw_capture *capture, const struct gw_capture_options *options,
                    struct gw_error *error);

/* gw_capture_child_fd returns the descriptor that the process writes to (borrowed).
 * gw_capture_started must be called when the process was started or could not be started. */
int gw_capture_child_fd(const struct gw_capture *capture);
void gw_capture_started(struct gw_capture *capture);

/* gw_capture_poll_fd returns the descriptor to poll for input before gw_capture_copy. -1: there is
 * nothing to copy, or the reader is too far behind. gw_capture_copy copies a limited amount and
 * never blocks. If the disk is full, the process gets a broken pipe. */
int gw_capture_poll_fd(const struct gw_capture *capture);
void gw_capture_copy(struct gw_capture *capture);

/* gw_capture_drain copies everything from the pipe, even if the reader is behind. It is called when
 * no process writes to the pipe any more. */
void gw_capture_drain(struct gw_capture *capture);

/* gw_capture_on_read records that the reader has read everything before offset. UINT64_MAX: there
 * is no reader any more, so the process never waits again. */
void gw_capture_on_read(struct gw_capture *capture, uint64_t offset);

/* gw_capture_name gives the file its name, unless it has one. A failure is logged. */
void gw_capture_name(struct gw_capture *capture);

/* gw_capture_close is called when no process writes any more. It drains the pipe, cuts the file to
 * its limit, and names the file if it is not empty. */
void gw_capture_close(struct gw_capture *capture);

/* gw_capture_check notes the time of new output, and cuts the file if it is larger than its limit.
 * It keeps the first and the last half, or only the beginning. It never cuts what the reader of a
 * held process has not read. It returns true if the file grew since the last check. The caller
 * should then check again soon. */
bool gw_capture_check(struct gw_capture *capture);

#endif
