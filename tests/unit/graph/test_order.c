/* If nodes depend only on earlier nodes, their order is found without examining their dependents,
 * and equals the order found for any graph. */
#include "tests/unit/unit.h"

#include "graph/model/order.h"

#include <string.h>

enum { NODES = 3000, NEEDS_MAX = 20 };

static uint64_t chance = 1;

static uint32_t below(uint32_t n)
{
    chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(chance >> 33) % n;
}

/* Two more nodes, the first of which depends on the second: that is not an earlier node. */
static void add_forward(struct gw_order_graph *graph, uint32_t *at, uint32_t *needs)
{
    needs[at[NODES]] = NODES + 1;
    at[NODES + 1] = at[NODES + 2] = at[NODES] + 1;
    graph->count = NODES + 2;
}

static void forward_and_general_sorts_give_the_same_order(void **state)
{
    static uint32_t at[NODES + 3], needs[NODES * NEEDS_MAX + 1], one[NODES], other[NODES + 2];
    (void)state;
    for (uint32_t head = 0; head <= 64; head += 64) {
        for (uint32_t i = 0; i < NODES; i++) {
            uint32_t count = i ? below(i % 97 ? 4 : NEEDS_MAX) : 0;
            at[i + 1] = at[i];
            for (uint32_t k = 0; k < count; k++)
                needs[at[i + 1]++] = below(i);
        }
        struct gw_order_graph graph = {NODES, at, needs, head};
        uint32_t cycle;
        assert_int_equal(gw_order_sort(&graph, one, &cycle), 0);
        add_forward(&graph, at, needs);
        assert_int_equal(gw_order_sort(&graph, other, &cycle), 0);
        assert_memory_equal(one, other, sizeof one);
        assert_int_equal(other[NODES], NODES + 1);
        assert_int_equal(other[NODES + 1], NODES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_and_general_sorts_give_the_same_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
