/* Targets, sorted by row. */
#include "client/targets.h"

#include <stdlib.h>

enum { TARGETS_MAX = 1 << 30 };

static int by_row(const void *a, const void *b)
{
    const struct gw_target *x = a, *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int targets_alloc(struct gw_targets *targets, size_t count, struct gw_error *error)
{
    *targets = (struct gw_targets){0};
    if (count > TARGETS_MAX)
        return gw_error_set(error, GW_EINVAL, "%zu futures are more than a client holds", count);
    targets->count = (uint32_t)count;
    targets->items = calloc(count + 1, sizeof *targets->items);
    targets->rows = calloc(count + 1, sizeof *targets->rows);
    return targets->items && targets->rows ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
}

static void sort(struct gw_targets *targets)
{
    qsort(targets->items, targets->count, sizeof *targets->items, by_row);
    for (uint32_t i = 0; i < targets->count; i++)
        targets->rows[i] = targets->items[i].row;
}

static uint32_t row_of(const struct gw_graph_rows *rows, gw_node node)
{
    uint32_t row = node.index < rows->node_count ? rows->row_of_node[node.index] : UINT32_MAX;
    return row < rows->count ? row : UINT32_MAX;
}

int gw_targets_init(struct gw_targets *targets, const struct gw_graph_rows *rows,
                    const gw_node *nodes, size_t count, struct gw_error *error)
{
    int rc = targets_alloc(targets, count, error);
    for (uint32_t i = 0; i < count && rc == 0; i++) {
        targets->items[i] = (struct gw_target){row_of(rows, nodes[i]), i};
        if (targets->items[i].row == UINT32_MAX)
            rc = gw_error_set(error, GW_EINVAL,
                              "node %u is no task of this graph: no future of it can be given",
                              nodes[i].index);
    }
    if (rc == 0)
        sort(targets);
    return rc;
}

int gw_targets_init_head(struct gw_targets *targets, const struct gw_graph_rows *head,
                         const gw_node *nodes, size_t count, struct gw_error *error)
{
    int rc = targets_alloc(targets, count, error);
    for (uint32_t i = 0; i < count && rc == 0; i++)
        targets->items[i] = (struct gw_target){row_of(head, nodes[i]), i};
    if (rc == 0)
        sort(targets);
    return rc;
}

void gw_targets_deinit(struct gw_targets *targets)
{
    free(targets->items);
    free(targets->rows);
}
