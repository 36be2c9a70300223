/* Moves the standard output and error of tasks to files below GANGWAY_LOG_DIR: to a log segment
 * (log_segment.h), or to files of the attempt. */
#ifndef GW_RUNNER_OUTPUT_H
#define GW_RUNNER_OUTPUT_H

#include "worker/runner/log_segment.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct gw_output {
    const char *log_dir; /* borrowed; NULL: output is not moved */
    bool captured[2];    /* streams 1 and 2 are files that can be emptied */
    int notify;        /* inotify descriptor for writes to those files; -1: their sizes are read */
    bool asked;        /* a move was made, so the program's output before its first task is done */
    uint64_t touch_ns; /* a task that ran for less cannot have used a stream; 0: unknown */
    /* Duplicates of the capture files, in case a task closes streams 1 and 2; or -1 */
    int retained_fds[2];
    FILE *streams[2];  /* stdout and stderr of the C library */
    ino_t inodes[2];   /* inode of each capture file */
    dev_t devices[2];  /* device of each capture file */
    int saved_fds[2];  /* the capture files while streams are redirected; otherwise -1 */
    uint64_t begin[2]; /* start of the task's output in the capture files */
    struct gw_log_segment segment;
    char said[2][GW_LOG_SEGMENT_BYTES_MAX]; /* output of the last task that went to a log segment */
    uint64_t bytes_max;                     /* limit of the redirected task */
};

/* The attempt that output belongs to. Its files are <job>/<index>.<attempt>[.<rank>].out and .err.
 */
struct gw_output_place {
    uint64_t job, attempt;
    uint32_t index, rank; /* rank: GW_RANK_NONE unless it is a gang */
    uint64_t bytes_max;   /* limit of each file; 0: none */
    const char *head;     /* line to write before the output; NULL: none */
};

/* gw_output_init examines the streams of this process and makes stdout line-buffered. */
void gw_output_init(struct gw_output *output, const char *log_dir);

/* gw_output_begin notes that an attempt begins whose output will be moved. attempt 0: its output is
 * redirected. */
void gw_output_begin(struct gw_output *output, uint64_t attempt);

/* The stderr of a task. */
struct gw_output_err {
    const char *text; /* not terminated; valid until the next move */
    size_t bytes;
    bool filed; /* the output is in a file of the attempt, and text is not set */
};

/* gw_output_move moves what streams 1 and 2 have captured of a task, which ran for ran_ns, to its
 * job's log segment. If the output is large, or `head` is set, it goes to files of the attempt. If
 * the task has written nothing, no file is created. Output that cannot be written is dropped, so it
 * never makes a task fail. Streams that the task has closed or replaced are restored. */
void gw_output_move(struct gw_output *output, const struct gw_output_place *place, uint64_t ran_ns,
                    struct gw_output_err *err);

/* gw_output_redirect redirects streams 1 and 2 to files of the attempt, so that they can be
 * followed while it runs. gw_output_restore undoes this. gw_output_trim truncates the files at
 * bytes_max. */
void gw_output_redirect(struct gw_output *output, const struct gw_output_place *place);
void gw_output_trim(struct gw_output *output);
void gw_output_restore(struct gw_output *output);

#endif
