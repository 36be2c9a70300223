/* Writes log segments (graph/wire/scroll.h), and the mark of the runner. */
#ifndef GW_RUNNER_SCROLL_H
#define GW_RUNNER_SCROLL_H

#include "graph/wire/message.h"
#include "graph/wire/scroll.h"

#include <sys/types.h>

enum { GW_SCROLL_FILES = 4 }; /* files that stay open, one per job */

struct gw_scroll {
    const char *log_dir; /* borrowed */
    char name[80];       /* name of all its files; empty: writes none */
    struct gw_scroll_mark *mark;
    bool asked; /* opening the mark was tried, which is done once */
    struct gw_scroll_file {
        uint64_t job; /* 0: unused */
        uint64_t bytes;
        int fd;
        ino_t inode; /* inode when it was opened: a task may close any descriptor */
        dev_t device;
    } files[GW_SCROLL_FILES];
    uint32_t next; /* next entry to replace */
};

/* gw_scroll_init derives the name of the files from the path of the capture file capture_fd.
 * log_dir is borrowed. */
void gw_scroll_init(struct gw_scroll *scroll, const char *log_dir, int capture_fd);

/* gw_scroll_begin writes into the mark that an attempt executes. 0: none. The mark survives a
 * crash, so that the worker knows which attempt crashed. */
void gw_scroll_begin(struct gw_scroll *scroll, uint64_t attempt);

/* gw_scroll_add appends the output of a task, at most GW_SCROLL_BYTES_MAX per stream. `record`
 * contains the index, attempt and sizes. GW_EIO: nothing was written. */
int gw_scroll_add(struct gw_scroll *scroll, uint64_t job, const struct gw_scroll_record *record,
                  const char *const said[2]);

/* gw_scroll_move writes into the mark that no attempt executes, and where the output of the next
 * one begins. */
void gw_scroll_move(struct gw_scroll *scroll, const uint64_t begin[2]);

#endif
