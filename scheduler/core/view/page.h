/* A page: one answer's rows, as many as fit a message and a turn of the scheduler's loop.
 *
 * Always: a page of a query that came as a message has at most bytes_max bytes of rows and one more
 * row, and no row has more than GW_PAGE_ROW_BYTES. Making it costs a bounded number of units, of
 * about 100 ns each. What is left out begins at `next`, which the asker gives as the cursor of the
 * next page. */
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
    GW_PAGE_ANSWER_BYTES = GW_FRAME_BYTES_MAX - 65536, /* of an answer that is no list */
};

struct gw_page {
    struct gw_value *rows;
    uint64_t cursor; /* where it begins; each listing says what its cursors count */
    uint64_t next;   /* where the next page begins, if more */
    bool more;
    uint32_t rows_max, units;
    size_t bytes, bytes_max;
};

/* gw_page_init makes an empty page, as large as a message and a turn allow; gw_page_init_whole one
 * without these limits, for callers inside the scheduler, with at most rows_max rows. rows is the
 * caller's then. */
void gw_page_init(struct gw_page *page, uint64_t cursor);
void gw_page_init_whole(struct gw_page *page, uint32_t rows_max);

/* gw_page_limit lowers how many rows it takes. */
void gw_page_limit(struct gw_page *page, uint32_t rows_max);

/* gw_page_spend tells whether there are so many units left, and takes them; if not, the next page
 * begins at `at`. */
bool gw_page_spend(struct gw_page *page, uint32_t units, uint64_t at);

/* gw_page_is_full tells whether no row is taken any more; then the next page begins at `at`. */
bool gw_page_is_full(struct gw_page *page, uint64_t at);

/* gw_page_push takes a row over, cut where it is too long. */
void gw_page_push(struct gw_page *page, struct gw_value *row);

/* gw_page_take_list fills an empty page with the rows of a list from number `cursor` on, and takes
 * the list over. */
void gw_page_take_list(struct gw_page *page, struct gw_value *list);

/* gw_page_shorten gives a value that has at most so many bytes as MessagePack: the same one, or a
 * copy in which long texts and lists are cut, each with a mark that says how much is left out. It
 * takes the value over. */
struct gw_value *gw_page_shorten(struct gw_value *value, size_t bytes_max);

/* gw_page_bytes is at least how many bytes a value has as MessagePack. */
size_t gw_page_bytes(const struct gw_value *value);

#endif
