/* Log segments: files with the output of many short tasks, one after another.
 *
 * A runner writes one log segment per job, <logs>/<job>/runner.<incarnation>.<process>. A log
 * segment is a sequence of records. Each record has the output of one task that printed something,
 * in the order in which the tasks ended. The runner's processes write to capture files
 * (<logs>/runner.<incarnation>.<process>.out and .err). A third file with the extension .mark says
 * where in the capture files the output of the running task begins. The output before that position
 * is in a log segment already. All these files are used on one host only, so they are in its byte
 * order. */
#ifndef GW_WIRE_LOG_SEGMENT_H
#define GW_WIRE_LOG_SEGMENT_H

#include <stdint.h>

#define GW_LOG_SEGMENT_PREFIX "runner."
#define GW_LOG_SEGMENT_MARK "mark" /* extension */

enum {
    GW_LOG_SEGMENT_MAGIC = 0x6c637267,
    GW_LOG_SEGMENT_BYTES_MAX =
        16 * 1024 /* per stream and task; a task that prints more gets its own files */
};

/* The header of a record. The bytes of both streams follow. */
struct gw_log_segment_record {
    uint32_t magic, index;
    uint64_t attempt;
    uint32_t bytes[2]; /* sizes of stdout and stderr */
};

/* attempt: the running attempt; 0: none, or an attempt with its own files. If a begin is beyond the
 * end of its file, the file was truncated and the begin counts as 0. */
struct gw_log_segment_mark {
    uint64_t attempt;
    uint64_t begin[2];
};

#endif
