/* The order of the nodes of a graph. Each node comes after the nodes that it depends on. The order
 * is depth-first, so that a result is used soon after it was made. */
#ifndef GW_MODEL_ORDER_H
#define GW_MODEL_ORDER_H

#include <stdint.h>

/* The needs of each node (the nodes that it depends on) as compressed sparse rows: those of node i
 * are needs[at[i]] to needs[at[i + 1] - 1]. */
struct gw_order_graph {
    uint32_t count;
    const uint32_t *at; /* count + 1 entries */
    const uint32_t *needs;
    uint32_t head; /* nodes below this number come first, unsorted; they depend on no node from this
                      number on */
};

/* gw_order_sort writes the order: order[row] is a node. `order` has room for count nodes. Returns
 * 0, GW_ENOMEM, or GW_ECYCLE. In the last case order[0] to order[*cycle - 1] are the nodes of a
 * cycle: the next node depends on each, and the first depends on the last. The same graph always
 * gives the same order. */
int gw_order_sort(const struct gw_order_graph *graph, uint32_t *order, uint32_t *cycle);

#endif
