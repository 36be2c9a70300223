/* Reads log segments (graph/wire/scroll.h): finds the record of an attempt. The index of one job is
 * cached, so that a million of its tasks can be looked up one by one. Not thread-safe. */
#ifndef GW_STORE_SCROLLS_H
#define GW_STORE_SCROLLS_H

#include "graph/wire/scroll.h"

#include <limits.h>
#include <stdbool.h>

struct gw_scrolls;

/* gw_scrolls_new returns an empty index. It aborts if out of memory. gw_scrolls_free accepts NULL.
 */
struct gw_scrolls *gw_scrolls_new(void);
void gw_scrolls_free(struct gw_scrolls *scrolls);

/* The place of a task's output. */
struct gw_scrolls_part {
    char path[PATH_MAX];
    uint64_t begin; /* offset of the stream */
    uint32_t bytes; /* length of the stream */
};

/* gw_scrolls_find finds the output of an attempt on a stream (1 or 2) in a job's folder
 * (<log_dir>/<job>). Returns false if the attempt has no record there. */
bool gw_scrolls_find(struct gw_scrolls *scrolls, const char *folder, uint64_t attempt,
                     uint32_t stream, struct gw_scrolls_part *part);

/* gw_scrolls_latest returns the newest attempt of a task that has a record. 0: none. */
uint64_t gw_scrolls_latest(struct gw_scrolls *scrolls, const char *folder, uint32_t index);

/* gw_scrolls_forget frees the cached index. */
void gw_scrolls_forget(struct gw_scrolls *scrolls);

/* gw_scrolls_mark reads the mark of a runner from its file. Returns false if there is none. */
bool gw_scrolls_mark(const char *path, struct gw_scroll_mark *mark);

#endif
