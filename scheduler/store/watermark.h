/* The high-water mark of a state: the number of commits that were acknowledged, in a small file
 * beside the database. A database with fewer commits has lost some.
 *
 * The mark is written after each commit, and reaches the disk when gw_watermark_sync is called or
 * the kernel writes it. After a power failure the mark may be lower than the number of acknowledged
 * commits, but never higher. Two slots are written in turn, so that an incomplete write leaves the
 * other slot intact. Only one thread at a time may use it. */
#ifndef GW_SCHEDULER_STORE_WATERMARK_H
#define GW_SCHEDULER_STORE_WATERMARK_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

#define GW_WATERMARK_NAME "facts.mark"

struct gw_watermark {
    int fd;           /* -1: not open */
    uint64_t commits; /* the number of commits in the mark; 0: none */
};

/* gw_watermark_read reads the mark of a state folder. Returns false if no intact mark exists. */
bool gw_watermark_read(const char *dir, uint64_t *commits);

/* gw_watermark_open opens the mark for writing and creates it if it does not exist. Returns GW_EIO
 * with a text. */
int gw_watermark_open(struct gw_watermark *mark, const char *dir, struct gw_error *error);
void gw_watermark_close(struct gw_watermark *mark);

/* gw_watermark_raise records that `commits` commits are on disk. A failed write is ignored, and the
 * mark stays lower. gw_watermark_sync writes the mark to disk. */
void gw_watermark_raise(struct gw_watermark *mark, uint64_t commits);
void gw_watermark_sync(const struct gw_watermark *mark);

#endif
