/* Scrolls: files in which the output of many short tasks lies, one after the other.
 *
 * A runner writes one a job, <logs>/<job>/runner.<incarnation>.<process>: records, each of a task
 * that printed, in the order in which they ended. Beside its capture files
 * (<logs>/runner.<incarnation>.<process>.out and .err) it marks, in .mark, where in those the
 * output of the task begins that it executes: what lies before it is in a scroll already. All are
 * of one host, and so of one byte order. */
#ifndef GW_WIRE_SCROLL_H
#define GW_WIRE_SCROLL_H

#include <stdint.h>

#define GW_SCROLL_PREFIX "runner."
#define GW_SCROLL_MARK "mark" /* extension */

enum {
    GW_SCROLL_MAGIC = 0x6c637267,
    GW_SCROLL_BYTES_MAX =
        16 * 1024 /* of a stream of a task: who prints more has files of its own */
};

/* Followed by the bytes of both streams. */
struct gw_scroll_record {
    uint32_t magic, index;
    uint64_t attempt;
    uint32_t bytes[2]; /* of stdout and stderr */
};

/* attempt: that executes; 0: none, or one that has files of its own. A begin behind the end of its
 * file counts as 0: the file was emptied. */
struct gw_scroll_mark {
    uint64_t attempt;
    uint64_t begin[2];
};

#endif
