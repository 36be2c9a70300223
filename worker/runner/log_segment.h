/* Writes log segments (graph/wire/log_segment.h), and the mark of the runner. */
#ifndef GW_RUNNER_LOG_SEGMENT_H
#define GW_RUNNER_LOG_SEGMENT_H

#include "graph/wire/log_segment.h"
#include "graph/wire/message.h"

#include <sys/types.h>

enum { GW_LOG_SEGMENT_FILES = 4 }; /* files that stay open, one per job */

struct gw_log_segment {
    const char *log_dir; /* borrowed */
    char name[80];       /* name of all its files; empty: writes none */
    struct gw_log_segment_mark *mark;
    bool asked; /* opening the mark was tried, which is done once */
    struct gw_log_segment_file {
        uint64_t job; /* 0: unused */
        uint64_t bytes;
        int fd;
        ino_t inode; /* inode when it was opened: a task may close any descriptor */
        dev_t device;
    } files[GW_LOG_SEGMENT_FILES];
    uint32_t next; /* next entry to replace */
};

/* gw_log_segment_init derives the name of the files from the path of the capture file capture_fd.
 * log_dir is borrowed. */
void gw_log_segment_init(struct gw_log_segment *segment, const char *log_dir, int capture_fd);

/* gw_log_segment_begin writes into the mark that an attempt executes. 0: none. The mark survives a
 * crash, so that the worker knows which attempt crashed. */
void gw_log_segment_begin(struct gw_log_segment *segment, uint64_t attempt);

/* gw_log_segment_add appends the output of a task, at most GW_LOG_SEGMENT_BYTES_MAX per stream.
 * `record` contains the index, attempt and sizes. GW_EIO: nothing was written. */
int gw_log_segment_add(struct gw_log_segment *segment, uint64_t job,
                       const struct gw_log_segment_record *record, const char *const said[2]);

/* gw_log_segment_move writes into the mark that no attempt executes, and where the output of the
 * next one begins. */
void gw_log_segment_move(struct gw_log_segment *segment, const uint64_t begin[2]);

#endif
