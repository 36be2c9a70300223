/* An order: the nodes of a graph so that each comes after what it needs, depth first, and a result
 * is used up soon after it was made. */
#ifndef GW_MODEL_ORDER_H
#define GW_MODEL_ORDER_H

#include <stdint.h>

/* What each node needs, in compressed sparse rows: needs[at[i]] .. needs[at[i + 1] - 1]. */
struct gw_order_graph {
    uint32_t count;
    const uint32_t *at; /* count + 1 */
    const uint32_t *needs;
    uint32_t head; /* nodes below it come first, as they are; they need none behind it */
};

/* gw_order_sort writes the order: order[row] is a node (room for count). 0, GW_ENOMEM, or
 * GW_ECYCLE: then order[0] .. order[*cycle - 1] are the nodes of one cycle, each needed by the next
 * and the last by the first. The same graph gives the same order. */
int gw_order_sort(const struct gw_order_graph *graph, uint32_t *order, uint32_t *cycle);

#endif
