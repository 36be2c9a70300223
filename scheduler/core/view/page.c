/* Pages of listings, and shortening of values that are too long for a page. */
#include "scheduler/core/view/page.h"

#include "graph/base/must.h"
#include "scheduler/core/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gw_page_init(struct gw_page *page, uint64_t cursor)
{
    *page = (struct gw_page){.rows = gw_list(),
                             .cursor = cursor,
                             .rows_max = GW_PAGE_ROWS,
                             .units = GW_PAGE_UNITS,
                             .bytes_max = GW_PAGE_BYTES};
    GW_MUST_PTR(page->rows);
}

void gw_page_init_whole(struct gw_page *page, uint32_t rows_max)
{
    *page = (struct gw_page){
        .rows = gw_list(), .rows_max = rows_max, .units = UINT32_MAX, .bytes_max = SIZE_MAX};
    GW_MUST_PTR(page->rows);
}

void gw_page_limit(struct gw_page *page, uint32_t rows_max)
{
    if (rows_max < page->rows_max)
        page->rows_max = rows_max;
}

static void page_end(struct gw_page *page, uint64_t at)
{
    page->more = true;
    page->next = at;
}

bool gw_page_spend(struct gw_page *page, uint32_t units, uint64_t at)
{
    if (units > page->units && page->units < GW_PAGE_UNITS) {
        page_end(page, at);
        return false;
    }
    page->units -= units < page->units ? units : page->units; /* the first step is always allowed */
    return true;
}

bool gw_page_is_full(struct gw_page *page, uint64_t at)
{
    if (gw_value_count(page->rows) < page->rows_max && page->bytes < page->bytes_max)
        return false;
    page_end(page, at);
    return true;
}

void gw_page_push(struct gw_page *page, struct gw_value *row)
{
    GW_MUST_PTR(row);
    if (page->bytes_max < SIZE_MAX)
        row = gw_page_shorten(row, GW_PAGE_ROW_BYTES);
    page->bytes += gw_page_bytes(row);
    GW_MUST(gw_list_push(page->rows, row));
}

void gw_page_take_list(struct gw_page *page, struct gw_value *list)
{
    for (size_t i = page->cursor; i < gw_value_count(list); i++) {
        if (gw_page_is_full(page, i))
            break;
        gw_page_push(page, gw_value_ref(gw_value_at(list, i)));
    }
    gw_value_unref(list);
}

/* -- Shortening ----------------------------------------------------------------------------------
 */

enum { HEAD_BYTES = 5 }; /* upper bound of the MessagePack header of a text, list or dict */

size_t gw_page_bytes(const struct gw_value *value)
{
    const char *text;
    const void *data;
    size_t bytes = HEAD_BYTES;
    switch (gw_value_type(value)) {
    case GW_STR:
        return gw_value_get_str(value, &text, NULL) == 0 ? bytes + strlen(text) : bytes;
    case GW_BYTES:
        return gw_value_get_bytes(value, &data, &bytes, NULL) == 0 ? HEAD_BYTES + bytes : bytes;
    case GW_LIST:
    case GW_DICT:
        for (size_t i = 0; i < gw_value_count(value); i++) {
            if (gw_value_type(value) == GW_DICT)
                bytes += HEAD_BYTES + strlen(gw_value_key(value, i));
            bytes += gw_page_bytes(gw_value_at(value, i));
        }
        return bytes;
    default:
        return 9;
    }
}

/* Copies at most `most` bytes of a text and appends how many bytes are left out. */
static struct gw_value *cut_text(const char *text, size_t most)
{
    const size_t length = strlen(text), room = most + 48;
    size_t shown = most;
    if (length <= most)
        return gw_str(text);
    while (shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80)
        shown--; /* do not cut within a UTF-8 character */
    char *shorter = malloc(room);
    GW_MUST_PTR(shorter);
    (void)snprintf(shorter, room, "%.*s... (%zu more bytes)", (int)shown, text, length - shown);
    struct gw_value *value = gw_str(shorter);
    free(shorter);
    return value;
}

/* Copies a value with at most `items` items in each list or dict and at most `bytes` bytes in each
 * text. */
static struct gw_value *cut(struct gw_value *value, size_t items, size_t bytes)
{
    const size_t count = gw_value_count(value);
    const bool dict = gw_value_type(value) == GW_DICT;
    const char *text;
    char mark[48];
    if (gw_value_type(value) == GW_STR && gw_value_get_str(value, &text, NULL) == 0)
        return cut_text(text, bytes);
    if (!dict && gw_value_type(value) != GW_LIST)
        return gw_value_ref(value);
    struct gw_value *copy = dict ? gw_dict() : gw_list();
    GW_MUST_PTR(copy);
    for (size_t i = 0; i < count && i < items; i++) {
        struct gw_value *item = cut(gw_value_at(value, i), items, bytes);
        GW_MUST(dict ? gw_dict_set(copy, gw_value_key(value, i), item) : gw_list_push(copy, item));
    }
    (void)snprintf(mark, sizeof mark, "%zu more", count > items ? count - items : 0);
    if (count > items)
        GW_MUST(dict ? gw_dict_set(copy, "...", gw_str(mark)) : gw_list_push(copy, gw_str(mark)));
    return copy;
}

struct gw_value *gw_page_shorten(struct gw_value *value, size_t bytes_max)
{
    static const struct {
        size_t items, bytes;
    } steps[] = {{4096, 4096}, {1024, 1024}, {256, 256}, {64, 128}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps && gw_page_bytes(value) > bytes_max; i++) {
        struct gw_value *shorter = cut(value, steps[i].items, steps[i].bytes);
        gw_value_unref(value);
        value = shorter;
    }
    return value;
}
