/* Sorts the nodes of a graph in three passes. Each pass takes linear time, except for sorting the
 * needs of a node (the nodes that it depends on).
 *
 * If all nodes depend only on earlier ones, there is no cycle. One look at each edge finds this
 * out. The widths of the nodes can then be computed in the order of the nodes, which is also their
 * order in memory. Otherwise:
 *
 * 1. Kahn's algorithm finds out whether there is a cycle, and computes the `width` of each node:
 * how many results exist at the same time, at most, while the node is computed, if the graph were a
 * tree (Sethi and Ullman).
 *
 * 2. The needs of each node are sorted by width, the widest first. So the results of narrow ones
 * exist for a shorter time.
 *
 * 3. From every node that no other node depends on, in the order of their creation, a depth-first
 * walk writes each node after its needs.
 *
 * Pass 2 and 3 are the same in both cases. There is no recursion, because a chain may have a
 * million nodes. */
#include "graph/model/order.h"

#include <assert.h>
#include <gangway/error.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_NEEDS = 16 }; /* up to this many needs are sorted by insertion */

/* A node on the walk, and the index of its next need. */
struct step {
    uint32_t node, next;
};

enum { NEEDED = 1, DONE = 2 };

struct work {
    const struct gw_order_graph *graph;
    uint32_t *users_at, *users; /* the edges reversed */
    uint32_t *needs;            /* the needs of the graph, sorted */
    uint32_t *open;             /* for each node: number of needs whose width is unknown */
    uint32_t *width;            /* 0: unknown */
    uint32_t *queue;
    struct step *stack;
    uint8_t *flags; /* NEEDED, DONE */
};

static int work_init(struct work *work, const struct gw_order_graph *graph)
{
    size_t count = graph->count;
    size_t edges = graph->at[count];
    *work = (struct work){.graph = graph};
    work->needs = malloc((edges + 1) * sizeof(uint32_t));
    work->width = calloc(count + 1, sizeof(uint32_t));
    work->stack = malloc((count + 1) * sizeof(struct step));
    work->flags = calloc(count + 1, sizeof(uint8_t));
    if (!work->needs || !work->width || !work->stack || !work->flags)
        return GW_ENOMEM;
    if (edges)
        memcpy(work->needs, graph->needs, edges * sizeof(uint32_t));
    return 0;
}

/* Returns true if all nodes depend only on earlier nodes. */
static bool goes_backwards(const struct gw_order_graph *graph)
{
    for (uint32_t i = 0; i < graph->count; i++)
        for (uint32_t e = graph->at[i]; e < graph->at[i + 1]; e++)
            if (graph->needs[e] >= i)
                return false;
    return true;
}

/* Reverses the edges. */
static int find_users(struct work *work)
{
    const struct gw_order_graph *graph = work->graph;
    size_t count = graph->count;
    size_t edges = graph->at[count];
    work->users_at = calloc(count + 2, sizeof(uint32_t));
    work->users = malloc((edges + 1) * sizeof(uint32_t));
    work->open = malloc((count + 1) * sizeof(uint32_t));
    work->queue = malloc((count + 1) * sizeof(uint32_t));
    if (!work->users_at || !work->users || !work->open || !work->queue)
        return GW_ENOMEM;
    uint32_t *at =
        work->users_at +
        1; /* counts are stored one entry later, so that filling moves each start into place */
    for (size_t e = 0; e < edges; e++)
        at[graph->needs[e] + 1]++;
    for (size_t i = 0; i < count; i++)
        at[i + 1] += at[i];
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t e = graph->at[i]; e < graph->at[i + 1]; e++)
            work->users[at[graph->needs[e]]++] = i;
    return 0;
}

static void work_deinit(struct work *work)
{
    free(work->users_at);
    free(work->users);
    free(work->needs);
    free(work->open);
    free(work->width);
    free(work->queue);
    free(work->stack);
    free(work->flags);
}

/* Compares two needs: the wider one first, and the older one first if the widths are equal. There
 * are no ties, so qsort_r always gives the same order. */
static int compare_width(const void *a, const void *b, void *arg)
{
    const struct work *work = arg;
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (work->width[x] != work->width[y])
        return work->width[x] < work->width[y] ? 1 : -1;
    return x < y ? -1 : x > y;
}

static void sort_needs(struct work *work, uint32_t *needs, uint32_t count)
{
    if (count > FEW_NEEDS) {
        qsort_r(needs, count, sizeof *needs, compare_width, work);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        uint32_t need = needs[i], at = i;
        for (; at > 0 && compare_width(&need, &needs[at - 1], work) < 0; at--)
            needs[at] = needs[at - 1];
        needs[at] = need;
    }
}

/* Sorts the needs of a node and returns its width. The widths of all its needs must be known. */
static uint32_t measure(struct work *work, uint32_t node)
{
    uint32_t from = work->graph->at[node], to = work->graph->at[node + 1];
    sort_needs(work, work->needs + from, to - from);
    uint32_t width = 1;
    for (uint32_t e = from; e < to; e++) {
        work->flags[work->needs[e]] |= NEEDED;
        uint32_t wanted = work->width[work->needs[e]] +
                          (e - from); /* while this need is computed, e - from results exist */
        width = wanted > width ? wanted : width;
    }
    return width;
}

/* Pass 1 and 2. Returns how many nodes have a width. These are all nodes unless there is a cycle.
 */
static uint32_t find_widths(struct work *work)
{
    const struct gw_order_graph *graph = work->graph;
    uint32_t *queue = work->queue;
    uint32_t queued = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        work->open[i] = graph->at[i + 1] - graph->at[i];
        if (work->open[i] == 0)
            queue[queued++] = i;
    }
    for (uint32_t q = 0; q < queued; q++) {
        uint32_t node = queue[q];
        work->width[node] = measure(work, node);
        for (uint32_t e = work->users_at[node]; e < work->users_at[node + 1]; e++)
            if (--work->open[work->users[e]] == 0)
                queue[queued++] = work->users[e];
    }
    return queued;
}

/* Finds a cycle. Each node without a width depends on another such node: follow these edges until a
 * node is reached again. */
static uint32_t find_cycle(struct work *work, uint32_t *cycle)
{
    const struct gw_order_graph *graph = work->graph;
    uint32_t node = 0, walked = 0;
    while (work->width[node])
        node++;
    while (!(work->flags[node] & DONE)) {
        work->flags[node] |= DONE;
        work->queue[walked++] = node;
        uint32_t e = graph->at[node];
        while (work->width[graph->needs[e]])
            e++;
        assert(e < graph->at[node + 1]);
        node = graph->needs[e];
    }
    uint32_t first = 0;
    while (work->queue[first] != node)
        first++;
    uint32_t length = walked - first, oldest = first;
    for (uint32_t i = first; i < walked; i++)
        if (work->queue[i] < work->queue[oldest])
            oldest = i;
    for (uint32_t i = 0; i < length; i++) /* the walk went against the edges: reverse it */
        cycle[i] = work->queue[first + (oldest - first + length - i) % length];
    return length;
}

/* Pass 3 from one node. */
static void walk(struct work *work, uint32_t root, uint32_t *order, uint32_t *row)
{
    const uint32_t *at = work->graph->at;
    uint32_t depth = 0;
    work->stack[depth++] = (struct step){root, at[root]};
    while (depth) {
        struct step *step = &work->stack[depth - 1];
        uint32_t end = at[step->node + 1];
        while (step->next < end && (work->flags[work->needs[step->next]] & DONE))
            step->next++;
        if (step->next < end) {
            uint32_t need = work->needs[step->next++];
            work->stack[depth++] = (struct step){need, at[need]};
            continue;
        }
        work->flags[step->node] |= DONE;
        order[(*row)++] = step->node;
        depth--;
    }
}

/* Pass 1 and 2 of any graph. Returns 0, GW_ENOMEM, or GW_ECYCLE. */
static int measure_all(struct work *work, uint32_t *order, uint32_t *cycle)
{
    const struct gw_order_graph *graph = work->graph;
    if (goes_backwards(graph)) {
        for (uint32_t i = 0; i < graph->count; i++)
            work->width[i] = measure(work, i);
        return 0;
    }
    int rc = find_users(work);
    if (rc == 0 && find_widths(work) < graph->count) {
        *cycle = find_cycle(work, order);
        rc = GW_ECYCLE;
    }
    return rc;
}

int gw_order_sort(const struct gw_order_graph *graph, uint32_t *order, uint32_t *cycle)
{
    struct work work;
    int rc = work_init(&work, graph);
    if (rc == 0)
        rc = measure_all(&work, order, cycle);
    if (rc == 0) {
        uint32_t row = 0;
        for (; row < graph->head; row++) {
            work.flags[row] |= DONE;
            order[row] = row;
        }
        for (uint32_t i = graph->head; i < graph->count; i++)
            if (!(work.flags[i] & NEEDED))
                walk(&work, i, order, &row);
        assert(row == graph->count);
    }
    work_deinit(&work);
    return rc;
}
