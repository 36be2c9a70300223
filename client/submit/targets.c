/* Sorts the targets of a submission by row. */
#include "client/submit/targets.h"

#include <stdlib.h>

enum {
    TARGETS_MAX = 1 << 30,
    SPARSE = 16, /* if there are more tasks than this for each target, comparing is faster than
                    counting */
};

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static int by_row(const void *a, const void *b)
{
    const struct gw_target *x = a, *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int targets_alloc(struct gw_targets *targets, size_t count, struct gw_error *error)
{
    *targets = (struct gw_targets){0};
    if (count > TARGETS_MAX)
        return gw_error_set(error, GW_EINVAL,
                            "the client would have %zu futures, which is more than it can number "
                            "(2^32): release some",
                            count);
    targets->count = (uint32_t)count;
    targets->items = calloc(count + 1, sizeof *targets->items);
    targets->rows = calloc(count + 1, sizeof *targets->rows);
    return targets->items && targets->rows ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
}

static void sort_few(struct gw_targets *targets)
{
    qsort(targets->items, targets->count, sizeof *targets->items, by_row);
    for (uint32_t i = 0; i < targets->count; i++)
        targets->rows[i] = targets->items[i].row;
}

/* Counting sort: `below` first counts the targets of each row, then holds the place of the row's
 * next target. Targets without a row come last. */
static int sort_many(struct gw_targets *targets, uint32_t rows)
{
    struct gw_target *sorted = calloc(targets->count + 1u, sizeof *sorted);
    uint32_t *below = calloc(rows + 2u, sizeof *below);
    if (!sorted || !below) {
        free(sorted);
        free(below);
        return GW_ENOMEM;
    }
    for (uint32_t i = 0; i < targets->count; i++)
        below[min_u32(targets->items[i].row, rows) + 1]++;
    for (uint32_t row = 0; row < rows; row++)
        below[row + 1] += below[row];
    for (uint32_t i = 0; i < targets->count; i++) {
        uint32_t place = below[min_u32(targets->items[i].row, rows)]++;
        sorted[place] = targets->items[i];
        targets->rows[place] = targets->items[i].row;
    }
    free(below);
    free(targets->items);
    targets->items = sorted;
    return 0;
}

static int sort(struct gw_targets *targets, uint32_t rows, struct gw_error *error)
{
    if (targets->count < rows / SPARSE) {
        sort_few(targets);
        return 0;
    }
    return sort_many(targets, rows) == 0 ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
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
                              "node %u is not a task of this graph, so it has no future",
                              nodes[i].index);
    }
    return rc == 0 ? sort(targets, rows->count, error) : rc;
}

int gw_targets_init_head(struct gw_targets *targets, const struct gw_graph_rows *head,
                         const gw_node *nodes, size_t count, struct gw_error *error)
{
    int rc = targets_alloc(targets, count, error);
    for (uint32_t i = 0; i < count && rc == 0; i++)
        targets->items[i] = (struct gw_target){row_of(head, nodes[i]), i};
    return rc == 0 ? sort(targets, head->count, error) : rc;
}

void gw_targets_deinit(struct gw_targets *targets)
{
    free(targets->items);
    free(targets->rows);
}
