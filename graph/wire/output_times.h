/* Output times: when the bytes of an output file were written. They are in a file beside it, with
 * the extension GW_OUTPUT_TIMES. Its entries say: at this time, the output had this many bytes. The
 * file has at most GW_OUTPUT_TIMES_MAX entries. If it is full, every second entry is dropped, and
 * new ones are farther apart. Each entry is true by itself, so a reader may read while the file is
 * rewritten. */
#ifndef GW_WIRE_OUTPUT_TIMES_H
#define GW_WIRE_OUTPUT_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#define GW_OUTPUT_TIMES ".times"

enum { GW_OUTPUT_TIMES_MAX = 4096 };

/* An entry of the file. The file is used on one host only, so it is in its byte order. */
struct gw_output_time {
    uint64_t bytes;
    uint64_t at_ns; /* wall clock */
};

/* The writer's state. Zero: no entry was written yet. */
struct gw_output_times {
    uint32_t count;
    uint64_t spacing_ns;           /* least time between two entries; 0: the default */
    struct gw_output_time last[2]; /* the last entry, and the one before it */
};

/* gw_output_times_add adds an entry to the times of the file at `path`. The first entry replaces an
 * older file. If the output is shorter than before, all earlier entries are dropped. An error is
 * ignored: then the times of some output are not known. */
void gw_output_times_add(struct gw_output_times *times, const char *path, uint64_t bytes,
                         uint64_t at_ns);

/* The known times of the output from an offset on. */
struct gw_output_times_found {
    bool known;     /* the output has times */
    uint64_t at_ns; /* when the byte at the offset was written, at the latest; 0: not known yet */
    uint64_t end;   /* the bytes before this offset have the same time; UINT64_MAX: all others */
    uint64_t since; /* offset of the first byte that may have been written at since_ns or later */
};

/* gw_output_times_find reads the times of the file at `path`. since_ns 0: `since` is 0. */
void gw_output_times_find(const char *path, uint64_t offset, uint64_t since_ns,
                          struct gw_output_times_found *found);

#endif
