/* Reads log segments (graph/wire/log_segment.h): finds the record of an attempt. The index of one
 * job is cached, so that a million of its tasks can be looked up one by one. Not thread-safe. */
#ifndef GW_STORE_LOG_SEGMENTS_H
#define GW_STORE_LOG_SEGMENTS_H

#include "graph/wire/log_segment.h"

#include <limits.h>
#include <stdbool.h>

struct gw_log_segments;

/* gw_log_segments_new returns an empty index. It aborts if out of memory. gw_log_segments_free
 * accepts NULL.
 */
struct gw_log_segments *gw_log_segments_new(void);
void gw_log_segments_free(struct gw_log_segments *segments);

/* The place of a task's output. */
struct gw_log_segments_part {
    char path[PATH_MAX];
    uint64_t begin; /* offset of the stream */
    uint32_t bytes; /* length of the stream */
};

/* gw_log_segments_find finds the output of an attempt on a stream (1 or 2) in a job's folder
 * (<log_dir>/<job>). Returns false if the attempt has no record there. */
bool gw_log_segments_find(struct gw_log_segments *segments, const char *folder, uint64_t attempt,
                          uint32_t stream, struct gw_log_segments_part *part);

/* gw_log_segments_latest returns the newest attempt of a task that has a record. 0: none. */
uint64_t gw_log_segments_latest(struct gw_log_segments *segments, const char *folder,
                                uint32_t index);

/* gw_log_segments_forget frees the cached index. */
void gw_log_segments_forget(struct gw_log_segments *segments);

/* gw_log_segments_mark reads the mark of a runner from its file. Returns false if there is none. */
bool gw_log_segments_mark(const char *path, struct gw_log_segment_mark *mark);

#endif
