/* Scrolls (graph/wire/scroll.h), read: which record is whose. What was read of one job is kept, so
 * that a million of its tasks can be asked for one by one. Not thread-safe. */
#ifndef GW_STORE_SCROLLS_H
#define GW_STORE_SCROLLS_H

#include "graph/wire/scroll.h"

#include <limits.h>
#include <stdbool.h>

struct gw_scrolls;

/* gw_scrolls_new knows nothing yet; aborts without memory. gw_scrolls_free accepts NULL. */
struct gw_scrolls *gw_scrolls_new(void);
void gw_scrolls_free(struct gw_scrolls *scrolls);

/* Where a task's output lies. */
struct gw_scrolls_part {
    char path[PATH_MAX];
    uint64_t begin; /* offset of the stream */
    uint32_t bytes; /* of it */
};

/* gw_scrolls_find looks for the output of an attempt to a stream (1, 2) in a job's folder
 * (<log_dir>/<job>); false: it has no record there. */
bool gw_scrolls_find(struct gw_scrolls *scrolls, const char *folder, uint64_t attempt,
                     uint32_t stream, struct gw_scrolls_part *part);

/* gw_scrolls_latest is the newest attempt of a task that has a record; 0: none has. */
uint64_t gw_scrolls_latest(struct gw_scrolls *scrolls, const char *folder, uint32_t index);

/* gw_scrolls_forget frees what was kept. */
void gw_scrolls_forget(struct gw_scrolls *scrolls);

/* gw_scrolls_mark reads the mark of a runner, by its path; false: it has none. */
bool gw_scrolls_mark(const char *path, struct gw_scroll_mark *mark);

#endif
