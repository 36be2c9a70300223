/* Targets, sorted by row. */
#include "client/targets.h"

#include <stdlib.h>

enum { TARGETS_MAX = 1 << 30 };

static int by_row(const void *a, const void *b)
{
    const struct gw_target *x = a, *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

int gw_targets_init(struct gw_targets *targets, const struct gw_graph_rows *rows,
                    const gw_node *nodes, size_t count, struct gw_error *error)
{
    *targets = (struct gw_targets){0};
    if (count > TARGETS_MAX)
        return gw_error_set(error, GW_EINVAL, "%zu futures are more than a client holds", count);
    targets->count = (uint32_t)count;
    targets->items = calloc(count + 1, sizeof *targets->items);
    targets->rows = calloc(count + 1, sizeof *targets->rows);
    if (!targets->items || !targets->rows)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row =
            nodes[i].index < rows->node_count ? rows->row_of_node[nodes[i].index] : UINT32_MAX;
        if (row >= rows->count)
            return gw_error_set(error, GW_EINVAL,
                                "node %u is no task of this graph: no future of it can be given",
                                nodes[i].index);
        targets->items[i] = (struct gw_target){row, i};
    }
    qsort(targets->items, count, sizeof *targets->items, by_row);
    for (uint32_t i = 0; i < count; i++)
        targets->rows[i] = targets->items[i].row;
    return 0;
}

void gw_targets_deinit(struct gw_targets *targets)
{
    free(targets->items);
    free(targets->rows);
}
