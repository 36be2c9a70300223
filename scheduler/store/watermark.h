/* The high-water mark of a state: how many commits were acknowledged, in a small file beside the
 * database. A history that is shorter lost some.
 *
 * It is written after each commit and reaches the disk when gw_watermark_sync is called, or when
 * the kernel writes it: after a power cut it may say less than was acknowledged, never more. Two
 * slots are written in turn, so that a torn one leaves the other. One thread at a time. */
#ifndef GW_SCHEDULER_STORE_WATERMARK_H
#define GW_SCHEDULER_STORE_WATERMARK_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

#define GW_WATERMARK_NAME "facts.mark"

struct gw_watermark {
    int fd;           /* -1: not open */
    uint64_t commits; /* what it says; 0: nothing */
};

/* gw_watermark_read reads the mark of a state folder; false: there is none that is whole. */
bool gw_watermark_read(const char *dir, uint64_t *commits);

/* gw_watermark_open opens it for writing, and makes it. GW_EIO with text. */
int gw_watermark_open(struct gw_watermark *mark, const char *dir, struct gw_error *error);
void gw_watermark_close(struct gw_watermark *mark);

/* gw_watermark_raise says that so many commits are on disk. What cannot be written is passed over:
 * then it says less. gw_watermark_sync has it on disk. */
void gw_watermark_raise(struct gw_watermark *mark, uint64_t commits);
void gw_watermark_sync(const struct gw_watermark *mark);

#endif
