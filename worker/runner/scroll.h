/* The scrolls that a runner writes (graph/wire/scroll.h), and its mark. */
#ifndef GW_RUNNER_SCROLL_H
#define GW_RUNNER_SCROLL_H

#include "graph/wire/message.h"
#include "graph/wire/scroll.h"

#include <sys/types.h>

enum { GW_SCROLL_FILES = 4 }; /* that stay open: of as many jobs by turns */

struct gw_scroll {
    const char *log_dir; /* borrowed */
    char name[80];       /* of all its files; empty: it writes none */
    struct gw_scroll_mark *mark;
    bool asked; /* for the mark: once */
    struct gw_scroll_file {
        uint64_t job; /* 0: there is none */
        uint64_t bytes;
        int fd;
        ino_t inode; /* what fd was when it was opened: a task may close any descriptor */
        dev_t device;
    } files[GW_SCROLL_FILES];
    uint32_t next; /* the place to be used again */
};

/* gw_scroll_init finds out of which files capture_fd is one; log_dir is borrowed. */
void gw_scroll_init(struct gw_scroll *scroll, const char *log_dir, int capture_fd);

/* gw_scroll_begin marks that an attempt executes, or (0) none. The mark outlives a crash: by it its
 * worker knows what crashed. */
void gw_scroll_begin(struct gw_scroll *scroll, uint64_t attempt);

/* gw_scroll_add adds what a task of a job printed (job, index and attempt of the record count, and
 * bytes), GW_SCROLL_BYTES_MAX a stream at most. GW_EIO: not a byte of it is there. */
int gw_scroll_add(struct gw_scroll *scroll, uint64_t job, const struct gw_scroll_record *record,
                  const char *const said[2]);

/* gw_scroll_move marks that no attempt executes, and where the output of the next one begins. */
void gw_scroll_move(struct gw_scroll *scroll, const uint64_t begin[2]);

#endif
