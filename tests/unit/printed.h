/* The output of a task, wherever it is stored. Link with gangway_worker_store. */
#ifndef GW_TESTS_UNIT_PRINTED_H
#define GW_TESTS_UNIT_PRINTED_H

#include "worker/store/log_segments.h"
#include "worker/store/logfile.h"

#include <stdio.h>

/* The output in <log_dir>/<job> to a stream (1, 2); NULL: none. Valid until the next call. */
static inline const char *printed(const char *folder, uint64_t attempt, uint32_t stream)
{
    static char text[GW_LOG_SEGMENT_BYTES_MAX + 1];
    struct gw_log_segments *segments = gw_log_segments_new();
    struct gw_log_segments_part part;
    uint64_t total;
    const bool found = gw_log_segments_find(segments, folder, attempt, stream, &part);
    gw_log_segments_free(segments);
    if (!found || part.bytes == 0 ||
        gw_logfile_read(part.path, part.begin, text, &part.bytes, &total, NULL) < 0)
        return NULL;
    text[part.bytes] = '\0';
    return text;
}

#endif
