/* A page of a listing: as many rows as fit into one message and one turn of the scheduler's loop.
 *
 * Invariants for a query that came as a message: the rows of a page have at most bytes_max bytes
 * plus one row, and no row has more than GW_PAGE_ROW_BYTES. Building a page costs a bounded number
 * of units of about 100 ns each. The rows that are left out begin at `next`, which the client sends
 * as the cursor of its next query. */
#ifndef GW_SCHEDULER_CORE_PAGE_H
#define GW_SCHEDULER_CORE_PAGE_H

#include "graph/wire/frame.h"

#include <gangway/value.h>

enum {
    GW_PAGE_ROWS = 500,
    GW_PAGE_ROWS_BRIEF = 10000,
    GW_PAGE_BYTES = 256 << 10,
    GW_PAGE_ROW_BYTES = 64 << 10,
    GW_PAGE_UNITS = 20000,                             /* about 3 ms */
    GW_PAGE_ANSWER_BYTES = GW_FRAME_BYTES_MAX - 65536, /* limit of an answer that is not a list */
};

struct gw_page {
    struct gw_value *rows;
    uint64_t cursor; /* position in the listing at which this page begins; each listing defines
                        what the cursor counts */
    uint64_t next;   /* where the next page begins if `more` is set */
    bool more;
    uint32_t rows_max, units;
    size_t bytes, bytes_max;
};

/* gw_page_init makes an empty page with the limits of one message and one turn of the loop.
 * gw_page_init_whole makes a page without these limits for callers inside the scheduler, with at
 * most rows_max rows. The caller owns `rows` in both cases. */
void gw_page_init(struct gw_page *page, uint64_t cursor);
void gw_page_init_whole(struct gw_page *page, uint32_t rows_max);

/* gw_page_limit lowers the maximum number of rows. */
void gw_page_limit(struct gw_page *page, uint32_t rows_max);

/* gw_page_spend takes `units` from the page and returns true if that many are left. Otherwise it
 * ends the page, and the next page begins at `at`. */
bool gw_page_spend(struct gw_page *page, uint32_t units, uint64_t at);

/* gw_page_is_full returns true if the page takes no more rows. In this case the next page begins at
 * `at`. */
bool gw_page_is_full(struct gw_page *page, uint64_t at);

/* gw_page_push appends a row, shortened if it is too long. The page takes ownership of the row. */
void gw_page_push(struct gw_page *page, struct gw_value *row);

/* gw_page_take_list fills an empty page with the items of a list, beginning at item `cursor`. The
 * function takes ownership of the list. */
void gw_page_take_list(struct gw_page *page, struct gw_value *list);

/* gw_page_shorten limits a value to bytes_max bytes of MessagePack. It returns the same value, or a
 * copy in which long texts and lists are cut. Each cut is marked with the amount that is left out.
 * The function takes ownership of the value. */
struct gw_value *gw_page_shorten(struct gw_value *value, size_t bytes_max);

/* gw_page_bytes returns an upper bound of the size of a value as MessagePack. */
size_t gw_page_bytes(const struct gw_value *value);

#endif
