/* A set of numbers as sorted runs in one array. Invariant: no run is empty, and between two runs at
 * least one number is not a member. */
#include "scheduler/core/model/spans.h"

#include "graph/base/must.h"

#include <string.h>

void gw_spans_deinit(struct gw_spans *spans)
{
    gw_array_deinit(&spans->runs);
}

/* Returns the first run that ends at n or later. n is in this run, touches it, or is before it. */
static size_t find(const struct gw_spans *spans, uint32_t n)
{
    size_t low = 0, high = spans->runs.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans->runs.items[middle].end < n)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool touches(const struct gw_spans *spans, size_t at, uint32_t n)
{
    return at < spans->runs.count && spans->runs.items[at].first <= n + 1;
}

bool gw_spans_fits(const struct gw_spans *spans, uint32_t n, uint32_t runs_max)
{
    return spans->runs.count < runs_max || touches(spans, find(spans, n), n);
}

bool gw_spans_has(const struct gw_spans *spans, uint32_t n)
{
    size_t at = find(spans, n + 1);
    return at < spans->runs.count && spans->runs.items[at].first <= n;
}

static void remove_at(struct gw_spans *spans, size_t at, size_t count)
{
    struct gw_span *items = spans->runs.items;
    spans->runs.count -= count;
    memmove(items + at, items + at + count, (spans->runs.count - at) * sizeof *items);
}

void gw_spans_add(struct gw_spans *spans, uint32_t n)
{
    size_t at = find(spans, n);
    if (!touches(spans, at, n)) {
        GW_MUST(gw_array_push(&spans->runs, ((struct gw_span){0})));
        struct gw_span *items = spans->runs.items;
        memmove(items + at + 1, items + at, (spans->runs.count - 1 - at) * sizeof *items);
        items[at] = (struct gw_span){n, n + 1};
        return;
    }
    struct gw_span *run = &spans->runs.items[at];
    if (n < run->first)
        run->first = n;
    else if (n == run->end)
        run->end++;
    /* N filled the gap between two runs: join them. */
    if (at + 1 < spans->runs.count && run[1].first == run->end) {
        run->end = run[1].end;
        remove_at(spans, at + 1, 1);
    }
}

void gw_spans_drop(struct gw_spans *spans, uint32_t end)
{
    size_t gone = 0;
    while (gone < spans->runs.count && spans->runs.items[gone].end <= end)
        gone++;
    if (gone > 0)
        remove_at(spans, 0, gone);
    if (spans->runs.count && spans->runs.items[0].first < end)
        spans->runs.items[0].first = end;
}
