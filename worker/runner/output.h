/* Where a task's standard output and error go: below GANGWAY_LOG_DIR, into a scroll (scroll.h), or
 * files of the attempt. */
#ifndef GW_RUNNER_OUTPUT_H
#define GW_RUNNER_OUTPUT_H

#include "worker/runner/scroll.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct gw_output {
    const char *log_dir; /* borrowed; NULL: output stays where it is */
    bool captured[2];    /* streams 1 and 2 are files that can be emptied */
    int notify;          /* has something to read when those were written to; -1: ask them */
    bool asked;          /* once at least: what the program wrote before its first task was moved */
    uint64_t touch_ns;   /* who ran for less has done nothing to a stream; 0: it is not known */
    int kept_fds[2];     /* of the captured files, for when a task closes streams 1 and 2; or -1 */
    FILE *streams[2];    /* the C library's own */
    ino_t inodes[2];     /* theirs, */
    dev_t devices[2];    /* and where they lie */
    int saved_fds[2];    /* while redirected: the capture files; else -1 */
    uint64_t begin[2];   /* where in the captured files the output of the task begins */
    struct gw_scroll scroll;
    char said[2][GW_SCROLL_BYTES_MAX]; /* what the last task printed that went into a scroll */
    uint64_t bytes_max;                /* of the redirected task */
};

/* Whose output: file names are <job>/<index>.<attempt>[.<rank>].out and .err. */
struct gw_output_place {
    uint64_t job, attempt;
    uint32_t index, rank; /* rank: GW_RANK_NONE where it is not a gang */
    uint64_t bytes_max;   /* of each file; 0: no limit */
    const char *head;     /* a line to write before it; NULL: none */
};

/* gw_output_init looks at this process's streams and makes stdout line-buffered. */
void gw_output_init(struct gw_output *output, const char *log_dir);

/* gw_output_begin: an attempt executes now whose output will be moved; 0: redirected. */
void gw_output_begin(struct gw_output *output, uint64_t attempt);

/* What a task wrote to stderr. */
struct gw_output_err {
    const char *text; /* not terminated; borrowed until the next move */
    size_t bytes;
    bool filed; /* it has a file, and text is not given */
};

/* gw_output_move adds what streams 1 and 2 have captured of the task, which ran for ran_ns, to its
 * job's scroll, or, where that is much, or there is a head, to files of its own; nothing is made
 * where nothing was written. What cannot be written is dropped: output never fails a task. Streams
 * that the task closed or replaced are put back. */
void gw_output_move(struct gw_output *output, const struct gw_output_place *place, uint64_t ran_ns,
                    struct gw_output_err *err);

/* gw_output_redirect points streams 1 and 2 at the task's own files, so that they can be followed
 * while it runs; gw_output_restore points them back; gw_output_trim cuts them at bytes_max. */
void gw_output_redirect(struct gw_output *output, const struct gw_output_place *place);
void gw_output_trim(struct gw_output *output);
void gw_output_restore(struct gw_output *output);

#endif
